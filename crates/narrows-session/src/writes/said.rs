//! What will be written, in words, before anything is.

use super::Writes;
use super::limit::Limit;
use narrows_base::units::{Bytes, human};

impl Writes {
    /// Says what filling a scratch file in `directory` writes, where nothing else is written.
    pub fn filling(&self, directory: &str) -> String {
        let records = self.limit.device.saturating_sub(self.limit.data);
        format!(
            "writes at most {}: {} to fill a scratch file in {directory}, the rest for the file system's own records",
            human::bytes(Bytes::new(self.size.get() + records.get())),
            human::bytes(self.size)
        )
    }

    /// Says what will be written to `place`, before anything is.
    pub fn announcement(&self, place: &str) -> String {
        let Limit { data, device, is_asked } = self.limit;
        let mut text = format!("writes at most {}", human::bytes(device));
        text.push_str(&match self.share_of_life() {
            // Two decimals would make nothing of it.
            Some((share, about)) if share < 1e-4 => {
                format!(", less than {about}0.01 % of the drive's rated life")
            }
            Some((share, about)) => format!(", {about}{} of the drive's rated life", human::percent(share)),
            None => String::new(),
        });
        if let Some(class) = self.life.and_then(|life| life.class) {
            text.push_str(&format!(" (that of its class, {class}: its maker's figure is not known)"));
        }
        text.push_str(&format!(": {} to fill {place}, the rest for the tests", human::bytes(self.size)));
        if device > data {
            text.push_str(&format!(
                ", {} of it for the file system's own records",
                human::bytes(device.saturating_sub(data))
            ));
        }
        if self.cleared {
            text.push_str(", and as much to zero it again");
        }
        let data = human::bytes(data);
        text.push_str(&match is_asked {
            true => format!("; of data never more than {data} (--max-writes)"),
            false => "; --max-writes allows more".to_owned(),
        });
        text
    }
}
