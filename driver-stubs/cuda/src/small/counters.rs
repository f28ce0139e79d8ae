//! What the room did and what it could not do, as plain numbers.
//! It decides nothing.

/// Why a kernel of the table did not run on kept data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The kernel is not in the table: its outputs read zero.
    NotInTable,
    /// In the table by name, but its parameters are not the size the table knows.
    OtherLayout,
    /// More elements or bytes than are computed.
    TooLarge,
    /// A value among the parameters (type, operation, shape) the table does not know.
    UnknownArgument,
    /// The launch brought no readable parameters.
    NoParameters,
}

/// Totals since the store was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Launches that really ran on kept data.
    pub ran: u64,
    pub not_in_table: u64,
    pub other_layout: u64,
    pub too_large: u64,
    pub unknown_argument: u64,
    pub no_parameters: u64,
    /// Copies larger than the limit of one operation; they read zero.
    pub copies_over_limit: u64,
    /// Pieces dropped because the process kept too much, and their bytes; they read zero.
    pub evicted_pieces: u64,
    pub evicted_bytes: u64,
}

impl Counters {
    pub(super) fn count(&mut self, reason: Skipped) {
        let slot = match reason {
            Skipped::NotInTable => &mut self.not_in_table,
            Skipped::OtherLayout => &mut self.other_layout,
            Skipped::TooLarge => &mut self.too_large,
            Skipped::UnknownArgument => &mut self.unknown_argument,
            Skipped::NoParameters => &mut self.no_parameters,
        };
        *slot += 1;
    }
}
