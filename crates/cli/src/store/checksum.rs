//! XXH64: a checksum at the speed of memory.
//!
//! Every step is a bijection of the word it takes in, so a change within eight aligned bytes is always noticed; other
//! accidents slip through with probability `2^-64`. It is no protection against intent.

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

/// The checksum of `bytes`, different for each `seed`: pass the sum of what came before to sum several pieces.
pub(crate) fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut sum = if stripes.is_empty() {
        seed.wrapping_add(P5)
    } else {
        join(sum_stripes(seed, stripes))
    };
    sum = sum.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        sum ^= round(0, u64::from_le_bytes(*word));
        sum = sum.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        sum ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        sum = sum.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for byte in rest {
        sum ^= u64::from(*byte).wrapping_mul(P5);
        sum = sum.rotate_left(11).wrapping_mul(P1);
    }
    sum = (sum ^ (sum >> 33)).wrapping_mul(P2);
    sum = (sum ^ (sum >> 29)).wrapping_mul(P3);
    sum ^ (sum >> 32)
}

/// Four lanes that do not wait for each other.
fn sum_stripes(seed: u64, stripes: &[[u8; 32]]) -> [u64; 4] {
    let mut lanes = [
        seed.wrapping_add(P1).wrapping_add(P2),
        seed.wrapping_add(P2),
        seed,
        seed.wrapping_sub(P1),
    ];
    for stripe in stripes {
        let (words, _) = stripe.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }
    lanes
}

/// One number from four.
fn join(lanes: [u64; 4]) -> u64 {
    let mut sum = 0_u64;
    for (lane, turn) in lanes.iter().zip([1, 7, 12, 18]) {
        sum = sum.wrapping_add(lane.rotate_left(turn));
    }
    for lane in lanes {
        sum = (sum ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4);
    }
    sum
}

/// Takes one word in.
const fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2))
        .rotate_left(31)
        .wrapping_mul(P1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_values() {
        let check = |seed, text: &str, expected| {
            assert_eq!(checksum(seed, text.as_bytes()), expected, "{text}");
        };
        check(0, "", 0xEF46_DB37_51D8_E999);
        check(0, "a", 0xD24E_C4F1_A98C_6E5B);
        check(0, "abc", 0x44BC_2CF5_AD77_0999);
        check(0, "xxhash", 0x32DD_3895_2C4B_C720);
        check(20_141_025, "xxhash", 0xB559_B98D_844E_0635);
        let long = "Nobody inspects the spammish repetition";
        check(0, long, 0xFBCE_A83C_8A37_8BF1);
    }

    #[test]
    fn notices_any_one_or_two_flipped_bits() {
        for length in [1, 7, 8, 31, 32, 40, 77] {
            let mut bytes: Vec<u8> = (0..length).map(|i: u8| i.wrapping_mul(37)).collect();
            let bits = 8 * bytes.len();
            let right = checksum(5, &bytes);
            for first in 0..bits {
                bytes[first / 8] ^= 1 << (first % 8);
                assert_ne!(checksum(5, &bytes), right, "bit {first} of {length} bytes");
                for second in 0..first {
                    bytes[second / 8] ^= 1 << (second % 8);
                    let sum = checksum(5, &bytes);
                    bytes[second / 8] ^= 1 << (second % 8);
                    assert_ne!(sum, right, "bits {second} and {first} of {length} bytes");
                }
                bytes[first / 8] ^= 1 << (first % 8);
            }
        }
    }

    #[test]
    fn depends_on_length_and_seed() {
        let zeros = [0; 100];
        let sums: std::collections::BTreeSet<u64> =
            (0..=100).map(|n| checksum(0, &zeros[..n])).collect();
        assert_eq!(sums.len(), 101);
        assert_ne!(checksum(0, &zeros), checksum(1, &zeros));
    }
}
