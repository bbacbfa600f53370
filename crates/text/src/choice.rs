//! Which blocks are the main text, by how likely each is: as many of the likeliest ones as are expected to be right, each text once.
//!
//! Many pages have their text twice, for wide and narrow screens, or as a summary for scripts. What stands in another place as well is
//! left out there; what repeats beside itself, such as a chorus, is not, nor are code and tables.

use hashbrown::HashMap;

use crate::blocks::{Blocks, Place, is_of_script_without_spaces};
use crate::stated;

/// Words in a row that are compared, words of a text that is compared at all, and the part of it that has to be the same.
const RUN: usize = 5;
const LEAST: usize = 12;
const PART: f32 = 0.8;

/// Blocks that are less likely are not compared.
const FLOOR: f32 = 0.2;

/// Runs of a page that are known, at most.
const RUNS: usize = 200_000;

/// Chooses the blocks with which the expected F1 of words is greatest: the likeliest ones, as many as that says. Returns that F1, too.
pub fn choose(blocks: &Blocks, probabilities: &[f32]) -> (Vec<bool>, f32) {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|one, other| probabilities[*other].total_cmp(&probabilities[*one]));
    leave_out_again(blocks, probabilities, &mut order);
    let words = |index: usize| blocks.all[index].words.max(1) as f32;
    let wanted: f32 = order.iter().map(|index| probabilities[*index] * words(*index)).sum();
    let (mut right, mut chosen, mut best, mut count) = (0.0, 0.0, 0.0, 0);
    for (place, index) in order.iter().enumerate() {
        right += probabilities[*index] * words(*index);
        chosen += words(*index);
        let expected = 2.0 * right / (chosen + wanted);
        if expected > best {
            (best, count) = (expected, place + 1);
        }
    }
    let mut is_chosen = vec![false; probabilities.len()];
    order.iter().take(count).for_each(|index| is_chosen[*index] = true);
    (is_chosen, best.min(1.0))
}

/// Leaves out blocks whose text likelier ones have, in other elements.
fn leave_out_again(blocks: &Blocks, probabilities: &[f32], order: &mut Vec<usize>) {
    let mut known = HashMap::<u32, u32>::new();
    order.retain(|index| {
        let block = &blocks.all[*index];
        let container = &blocks.containers[block.container as usize];
        let may_repeat = container.within.has(Place::Preformatted) || container.within.has(Place::Table);
        if may_repeat || probabilities[*index] < FLOOR || (block.words as usize) < LEAST {
            return true;
        }
        let parent = container.parent;
        let words = stated::words_of(blocks.text_of(block));
        let runs = words.windows(RUN).map(stated::hash_of);
        let again = runs.clone().filter(|run| known.get(run).is_some_and(|other| *other != parent)).count();
        // A word of Chinese or Thai has some characters.
        let text = blocks.text_of(block);
        let is_unspaced = text.chars().filter(|c| is_of_script_without_spaces(*c)).count() * 2 > words.len();
        let least = if is_unspaced { 3 * LEAST } else { LEAST };
        let is_again = words.len() >= least && again as f32 >= PART * (words.len() - RUN + 1) as f32;
        if !is_again {
            let room = RUNS.saturating_sub(known.len());
            runs.take(room).for_each(|run| {
                known.entry(run).or_insert(parent);
            });
        }
        !is_again
    });
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};

    use super::*;

    fn blocks(html: &str) -> Blocks {
        Blocks::of(&parse(html, &Limits::default()))
    }

    #[test]
    fn the_likeliest_are_chosen() {
        let blocks = blocks("<p>one two three<p>a<p>four five six");
        assert_eq!(choose(&blocks, &[0.9, 0.1, 0.8]).0, [true, false, true]);
        assert_eq!(choose(&blocks, &[0.2, 0.05, 0.1]).0, [true, false, false], "something is always chosen");
        assert_eq!(choose(&Blocks::default(), &[]), (Vec::new(), 0.0));
    }

    #[test]
    fn a_text_that_stands_elsewhere_is_chosen_once() {
        let text = "The harbour was rebuilt after the flood of 1953, and ships of ninety metres can enter it at any tide.";
        let twice = blocks(&format!(
            "<main><p>{text}</p></main><div class=narrow><div><p>{text} Indeed.</p></div></div>"
        ));
        assert_eq!(choose(&twice, &[0.9, 0.95]).0, [false, true], "the likelier one");
        let chorus = blocks(&format!("<main><p>{text}</p><p>{text}</p></main>"));
        assert_eq!(choose(&chorus, &[0.9, 0.95]).0, [true, true]);
    }
}
