//! Is a SACK acceptable, and does it say anything new?

use polypath_wire::GapAckBlocks;

use crate::Tsn;

/// What to do with a SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SackVerdict {
    /// Apply it.
    Apply,
    /// Its cumulative ack lies behind: it was reordered, and a later one arrived first (RFC 9260 section 6.2.1, D i).
    Stale,
}

/// Why a SACK breaks the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SackProblem {
    /// It acknowledges a TSN that was never sent.
    AcknowledgesUnsent(Tsn),
    /// Gap blocks do not ascend, one ends before it starts, or the first one leaves no gap.
    MalformedBlock,
}

/// Judges a SACK against the outstanding TSNs `base..next`.
///
/// # Errors
///
/// A SACK that acknowledges what was never sent ends the association (RFC 9260 section 6.2.1; RFC 5062 section 5.1).
pub(crate) fn validate(
    cumulative: Tsn,
    blocks: &GapAckBlocks<'_>,
    base: Tsn,
    next: Tsn,
) -> Result<SackVerdict, SackProblem> {
    if cumulative.is_after(next.previous()) {
        return Err(SackProblem::AcknowledgesUnsent(cumulative));
    }
    if cumulative.next().is_before(base) {
        return Ok(SackVerdict::Stale);
    }
    validate_blocks(cumulative, blocks, next)?;
    Ok(SackVerdict::Apply)
}

/// Judges the gap blocks above a cumulative ack, where TSNs up to `next` were sent.
///
/// # Errors
///
/// As those of [`validate`].
pub(crate) fn validate_blocks(
    cumulative: Tsn,
    blocks: &GapAckBlocks<'_>,
    next: Tsn,
) -> Result<(), SackProblem> {
    // One pass without branches: SACKs over unequal paths have hundreds of blocks.
    let (malformed, highest) = blocks.iter().fold((false, 1), |(malformed, previous), block| {
        (malformed | (block.start <= previous) | (block.end < block.start), block.end)
    });
    if malformed {
        return Err(SackProblem::MalformedBlock);
    }
    let end = cumulative.plus(u32::from(highest));
    if !blocks.is_empty() && end.is_after(next.previous()) {
        return Err(SackProblem::AcknowledgesUnsent(end));
    }
    Ok(())
}
