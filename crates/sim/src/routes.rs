//! The links that packets pass.

/// Stands behind the last link of a route: the packet goes down to its host.
pub(crate) const HOST: u32 = u32::MAX;

/// The routes, all of one length: `HOST` fills the shorter ones.
#[derive(Clone)]
pub(crate) struct Routes {
    links: Vec<u32>,
    stride: usize,
}

impl Routes {
    pub(crate) fn new(routes: &[Vec<u32>]) -> Self {
        let stride = routes.iter().map(Vec::len).max().unwrap_or(0) + 1;
        let mut links = Vec::with_capacity(stride * routes.len());
        for route in routes {
            links.extend(route);
            links.resize(links.len() + stride - route.len(), HOST);
        }
        Routes { links, stride }
    }

    /// Returns the link at this place of a route; [`HOST`] behind its end.
    #[inline]
    pub(crate) fn at(&self, route: u16, hop: u8) -> u32 {
        self.links[usize::from(route) * self.stride + usize::from(hop)]
    }

    /// Returns the links of a route, in order.
    pub(crate) fn links(&self, route: u16) -> impl Iterator<Item = u32> + '_ {
        let from = usize::from(route) * self.stride;
        self.links[from..from + self.stride].iter().copied().take_while(|link| *link != HOST)
    }
}
