//! Where each pane stands for a size of the screen. Panes that share a place are tabs, and the
//! one that had the keyboard last is shown. It must not look at what the panes hold, other than
//! how many breakpoints there are.

use crate::commands::Pane;
use crate::state::UiState;
use ratatui::layout::Rect;

/// The smallest screen that is drawn on, in cells.
pub const SMALLEST: (u16, u16) = (40, 10);
/// Rows of the status bar.
pub const STATUS: u16 = 2;
/// From this size on most panes are seen at once.
const WIDE: (u16, u16) = (100, 30);
/// Columns that programs expect of a terminal: tools such as pytest wrap below.
const TERMINAL: u16 = 80;
/// Rows of breakpoints, beside the title, that are seen at least and at most.
const BREAKPOINTS: (u16, u16) = (2, 6);
/// From this size on there are two columns.
const MEDIUM: (u16, u16) = (70, 18);

/// Places of the panes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The places, each with the panes that share it.
    pub slots: Vec<Slot>,
    /// Columns of vertical lines: x, from y, rows.
    pub lines: Vec<(u16, u16, u16)>,
    /// The status bar.
    pub status: Rect,
}

/// A place on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// With the title row.
    pub area: Rect,
    /// The pane shown.
    pub shown: Pane,
    /// All that share it.
    pub tabs: Vec<Pane>,
}

impl Slot {
    /// The area below the title.
    pub fn body(&self) -> Rect {
        Rect {
            y: self.area.y.saturating_add(1),
            height: self.area.height.saturating_sub(1),
            ..self.area
        }
    }
}

impl Layout {
    /// The body of a pane, if it is on the screen.
    pub fn body(&self, pane: Pane) -> Option<Rect> {
        self.slots
            .iter()
            .find(|slot| slot.shown == pane)
            .map(Slot::body)
    }

    /// The body that a pane has, or would have if it were shown.
    pub fn place(&self, pane: Pane) -> Option<Rect> {
        self.slots
            .iter()
            .find(|slot| slot.tabs.contains(&pane))
            .map(Slot::body)
    }
}

/// Whether a screen can be drawn on.
pub fn fits(size: (u16, u16)) -> bool {
    size.0 >= SMALLEST.0 && size.1 >= SMALLEST.1
}

/// The places for the present size and number of breakpoints; none when it is too small.
pub fn layout(state: &UiState, breakpoints: usize, area: Rect) -> Layout {
    let size = (area.width, area.height);
    if !fits(size) {
        return Layout::default();
    }
    let height = area.height - STATUS;
    let status = Rect::new(area.x, area.y + height, area.width, STATUS);
    let body = Rect::new(area.x, area.y, area.width, height);
    let mut made = Layout {
        status,
        ..Layout::default()
    };
    let mut slot = |area: Rect, tabs: &[Pane]| {
        let shown = state.recent.iter().find(|pane| tabs.contains(pane));
        made.slots.push(Slot {
            area,
            shown: shown.or(tabs.first()).copied().unwrap_or(Pane::Tree),
            tabs: tabs.to_vec(),
        });
    };
    let at_least = |least: (u16, u16)| size.0 >= least.0 && size.1 >= least.1;
    if state.zoom || !at_least(MEDIUM) {
        slot(body, &Pane::ALL);
        return made;
    }
    let wide = at_least(WIDE);
    let left = if wide {
        let rest = area.width.saturating_sub(TERMINAL + 1).max(36);
        rest.min(share(area.width, 38, 100)).min(60)
    } else {
        share(area.width, 35, 100).max(28)
    };
    let x = area.x + left + 1;
    let right = area.width - left - 1;
    let column = |y: u16, rows: u16| Rect::new(area.x, area.y + y, left, rows);
    let top = share(height, 11, 20);
    let upper = Rect::new(x, area.y, right, top);
    let lower = Rect::new(x, area.y + top, right, height - top);
    if wide {
        let (few, many) = BREAKPOINTS;
        let last = (breakpoints.min(usize::from(many)) as u16).max(few) + 1;
        let first = share(height - last, 7, 20);
        let second = share(height - last, 5, 20);
        let third = height - first - second - last;
        slot(column(0, first), &[Pane::Tree]);
        slot(column(first, second), &[Pane::Stack]);
        slot(column(first + second, third), &[Pane::Variables]);
        slot(column(height - last, last), &[Pane::Breakpoints]);
        slot(upper, &[Pane::Source]);
        slot(lower, &[Pane::Output, Pane::Terminal]);
    } else {
        let first = height / 2;
        slot(column(0, first), &[Pane::Tree]);
        slot(
            column(first, height - first),
            &[Pane::Stack, Pane::Breakpoints],
        );
        slot(upper, &[Pane::Source]);
        slot(lower, &[Pane::Variables, Pane::Output, Pane::Terminal]);
    }
    made.lines.push((area.x + left, area.y, height));
    made
}

fn share(whole: u16, part: u16, of: u16) -> u16 {
    (u32::from(whole) * u32::from(part) / u32::from(of.max(1))) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_never_overlap_and_stay_inside() {
        for width in (1..=220).step_by(3) {
            for height in 1..=70 {
                let area = Rect::new(0, 0, width, height);
                let mut state = UiState::new();
                for (zoom, breakpoints) in [(false, 0), (false, 4), (false, 99), (true, 1)] {
                    state.zoom = zoom;
                    let made = layout(&state, breakpoints, area);
                    assert_eq!(made.slots.is_empty(), !fits((width, height)));
                    for (index, slot) in made.slots.iter().enumerate() {
                        assert_eq!(area.intersection(slot.area), slot.area);
                        assert!(slot.body().height >= 2, "{width}x{height} {slot:?}");
                        assert!(!slot.area.intersects(made.status));
                        for other in made.slots.iter().skip(index + 1) {
                            assert!(!slot.area.intersects(other.area));
                        }
                    }
                    let panes: usize = made.slots.iter().map(|slot| slot.tabs.len()).sum();
                    assert!(made.slots.is_empty() || panes == Pane::ALL.len());
                }
            }
        }
    }

    #[test]
    fn a_terminal_of_eighty_columns_and_no_more_breakpoints_than_there_are() {
        for (width, columns) in [(117, 80), (120, 80), (130, 80), (200, 139)] {
            let area = Rect::new(0, 0, width, 40);
            let place = |breakpoints, pane| {
                let made = layout(&UiState::new(), breakpoints, area);
                made.place(pane).unwrap()
            };
            assert_eq!(place(1, Pane::Terminal).width, columns);
            // A breakpoint that is set must not change what the program sees.
            assert_eq!(place(1, Pane::Terminal), place(9, Pane::Terminal));
            let rows = [0, 2, 4, 99].map(|count| place(count, Pane::Breakpoints).height);
            assert_eq!(rows, [2, 2, 4, 6]);
        }
    }

    #[test]
    fn the_pane_with_the_keyboard_is_always_seen() {
        for size in [(40, 10), (80, 24), (120, 40)] {
            for pane in Pane::ALL {
                let mut state = UiState::new();
                state.show(pane);
                let made = layout(&state, 1, Rect::new(0, 0, size.0, size.1));
                assert!(made.body(pane).is_some());
            }
        }
    }
}
