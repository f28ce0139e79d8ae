//! CUDA_VISIBLE_DEVICES: which GPUs of the tray are which CUDA ordinals. Pure text rules, no device is asked.

/// Ordinals to tray GPUs. `present` are the tray's GPUs this process may open, with their UUIDs, in PCI order.
///
/// Rules as the driver has them: the list ends at the first entry that names nothing or repeats one; a UUID
/// may be cut short as long as it is unambiguous; an empty value hides everything; "NoDevFiles" likewise.
pub fn select(value: Option<&str>, present: &[(usize, String)]) -> Vec<usize> {
    let all = || present.iter().map(|(gpu, _)| *gpu).collect();
    let Some(value) = value else { return all() };
    let mut chosen = Vec::new();
    for entry in value.split(',') {
        match one(entry.trim(), present) {
            Some(gpu) if chosen.contains(&gpu) => return Vec::new(),
            Some(gpu) => chosen.push(gpu),
            None => break,
        }
    }
    chosen
}

fn one(entry: &str, present: &[(usize, String)]) -> Option<usize> {
    if entry.starts_with("GPU-") && entry.len() > 4 {
        let mut matches = present.iter().filter(|(_, uuid)| uuid.starts_with(entry));
        let (gpu, _) = matches.next()?;
        return matches.next().is_none().then_some(*gpu);
    }
    let digits: String = entry.chars().take_while(char::is_ascii_digit).collect();
    let index: usize = digits.parse().ok()?;
    present.get(index).map(|(gpu, _)| *gpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tray() -> Vec<(usize, String)> {
        vec![(0, "GPU-aa11".into()), (1, "GPU-ab22".into()), (3, "GPU-cc33".into())]
    }

    #[test]
    fn no_variable_shows_all_and_an_empty_one_none() {
        assert_eq!(select(None, &tray()), [0, 1, 3]);
        assert!(select(Some(""), &tray()).is_empty());
        assert!(select(Some("-1"), &tray()).is_empty());
    }

    #[test]
    fn indices_reorder_and_the_first_bad_one_ends_the_list() {
        assert_eq!(select(Some("2,0"), &tray()), [3, 0]);
        assert_eq!(select(Some("1,9,0"), &tray()), [1]);
        assert!(select(Some("0,0"), &tray()).is_empty());
    }

    #[test]
    fn uuids_may_be_cut_short_while_unambiguous() {
        assert_eq!(select(Some("GPU-cc33"), &tray()), [3]);
        assert_eq!(select(Some("GPU-ab"), &tray()), [1]);
        assert!(select(Some("GPU-a"), &tray()).is_empty());
        assert!(select(Some("GPU-zz"), &tray()).is_empty());
    }
}
