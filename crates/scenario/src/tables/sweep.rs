//! `[sweep]`: seeds, and how the values of ranges are chosen.

use penstock_units::param::{int, Param, PARAM};
use penstock_units::{params, words};

words! {
    /// How the values of ranges are chosen.
    pub(crate) enum Method {
        /// A Latin hypercube.
        Lhs = "lhs",
        /// Independently.
        Random = "random",
        /// Evenly spaced.
        Grid = "grid",
    }
}

pub(crate) const SWEEP_SEEDS: Param = Param {
    name: "seeds",
    ty: int(1, 1_000_000),
    unit: "1",
    auto: "1",
    doc: "Seeds of every point of the grid.",
    ..PARAM
};

params! {
    /// Keys of `[sweep]` that say how the values of ranges are chosen.
    pub(crate) struct DesignKeys {
        /// Points that are sampled over all axes with a range together, for each combination of
        /// the listed values; with `method = "grid"`, values of each such axis, all combined.
        pub samples: Option<i64> {
            ty: int(1, 1_000_000),
            unit: "1",
            auto: "required where an axis has a range",
        },
        /// `lhs`: a Latin hypercube, each axis in as many equally likely slices as there are
        /// samples, and one sample in each; `random`: independent; `grid`: evenly spaced in the
        /// axis's law, both ends included.
        pub method: Method { default: "lhs", source: "McKay, Beckman, Conover 1979" },
        /// Chooses the samples, apart from the runs' seeds.
        pub design_seed: i64 { ty: int(0, 9_007_199_254_740_992), unit: "1", default: 1 },
    }
}
