//! What the guard needs of whoever knows the machine, for as long as a device is written.

use std::fmt::Debug;
use std::io;

use super::super::marks::RunSecret;
use super::decide::Refusal;

/// Keeps the record of what is written to a device, and looks for others who use it.
pub trait Keeper: Debug + Send + Sync {
    /// The secret of an earlier run on this device that was not cleared, as far as its record is here.
    fn earlier(&self) -> Option<RunSecret> {
        None
    }

    /// Writes down the secret of the run that begins. It is on stable storage when this returns; nothing is written before.
    ///
    /// # Errors
    /// It is not.
    fn record(&self, secret: &RunSecret) -> io::Result<()>;

    /// Nothing bears the marks of the run any more.
    fn forget(&self) {}

    /// Whether what is behind the device is what it was. Asked again and again, and before each part that is cleared.
    ///
    /// # Errors
    /// What changed, as a sentence.
    fn check_behind(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether nobody else wrote to what is behind it. Asked as often; what bears our marks is cleared all the same, once nobody
    /// uses the device.
    ///
    /// # Errors
    /// Who did, as a sentence.
    fn check_writers(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether nobody else uses the device: the same question before it is written and before it is cleared.
    ///
    /// # Errors
    /// Somebody does.
    fn check_unused(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Keeps the secret in this process alone: when that is killed, nobody can tell what it wrote.
#[derive(Debug)]
pub(super) struct Unkept;

impl Keeper for Unkept {
    fn record(&self, _: &RunSecret) -> io::Result<()> {
        Ok(())
    }
}
