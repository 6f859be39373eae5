//! What the fuzz targets `scenario` and `units` do with an input; the test `corpus` does the same
//! with every file of the corpus.

use penstock_scenario::Scenario;
use penstock_units as u;

/// Any text is a scenario or an error; a scenario resolves to one that reads back as itself, and
/// lowers or is refused.
pub fn scenario(text: &str) {
    let Ok(s) = Scenario::from_toml(text, "fuzz.toml").inspect_err(|e| drop(e.to_string())) else {
        return;
    };
    let resolved = s.resolved_json();
    let again = Scenario::from_json(&resolved)
        .unwrap_or_else(|e| panic!("what was resolved is refused: {e}"));
    assert_eq!(again.resolved_json(), resolved, "what is resolved stays as it is");
    let _ = s.lower_within(s.seed(), 1 << 22);
    let _ = (s.axes(), s.variants(), s.sweep_seeds(), s.design());
    let _: Vec<_> =
        s.ranges().iter().map(|range| (range.at(0.0), range.at(0.5), range.at(1.0))).collect();
}

/// Every parser of quantities; what is read can be written and read again.
pub fn units(text: &str) {
    if let Ok(d) = u::parse_duration(text) {
        assert_eq!(u::parse_duration(&u::format_duration(d)), Ok(d));
    }
    if let Ok(r) = u::parse_rate(text) {
        assert_eq!(u::parse_rate(&u::format_rate(r)), Ok(r));
    }
    if let Ok(b) = u::parse_size(text) {
        assert_eq!(u::parse_size(&u::format_size(b)), Ok(b));
    }
    if let Ok(q) = u::parse_queue(text) {
        match q {
            u::QueueLen::Packets(n) => assert!(n.is_finite() && n >= 0.0, "{n}"),
            u::QueueLen::Bytes(b) => {
                assert_eq!(u::parse_queue(&u::format_size(u::Bytes(b))), Ok(q))
            }
        }
    }
}
