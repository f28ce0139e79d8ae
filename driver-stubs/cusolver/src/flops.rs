//! How many floating point operations the routines do: the usual counts of their leading terms.
//! Sources: LAPACK Working Note 41 (factorisations); Golub and Van Loan, Matrix Computations, tables on the symmetric
//! and the unsymmetric eigenvalue problem and on the SVD. It knows no function of the library.

/// a * n^3 / b.
fn cube(n: u64, a: u64, b: u64) -> u64 {
    n.saturating_pow(3).saturating_mul(a) / b
}

pub fn potrf(n: u64) -> u64 {
    cube(n, 1, 3)
}

pub fn potri(n: u64) -> u64 {
    cube(n, 2, 3)
}

pub fn sytrf(n: u64) -> u64 {
    cube(n, 1, 3)
}

/// Of m x n with k = min(m, n): m n k - ... = 2/3 n^3 when square.
pub fn getrf(m: u64, n: u64) -> u64 {
    let (long, short) = (m.max(n), m.min(n));
    long.saturating_mul(short).saturating_mul(short).saturating_sub(cube(short, 1, 3))
}

/// 4/3 n^3 when square.
pub fn geqrf(m: u64, n: u64) -> u64 {
    getrf(m, n).saturating_mul(2)
}

/// The m x n matrix of k reflectors: 4/3 n^3 when all are equal.
pub fn orgqr(m: u64, n: u64, k: u64) -> u64 {
    let all = m.saturating_mul(n).saturating_mul(k.saturating_mul(4)).saturating_add(cube(k, 4, 3));
    all.saturating_sub(m.saturating_add(n).saturating_mul(k.saturating_mul(k).saturating_mul(2)))
}

/// `k` reflectors on `others` vectors of length `reflected`.
pub fn ormqr(reflected: u64, others: u64, k: u64) -> u64 {
    others.saturating_mul(k.saturating_mul(2)).saturating_mul(reflected.saturating_mul(2).saturating_sub(k))
}

/// Two triangular solves of n x n for `nrhs` sides.
pub fn solve(n: u64, nrhs: u64) -> u64 {
    n.saturating_mul(n).saturating_mul(nrhs.saturating_mul(2))
}

/// Reduction to three diagonals.
pub fn sytrd(n: u64) -> u64 {
    cube(n, 4, 3)
}

/// Symmetric eigenvalues, with vectors: divide and conquer and the way back.
pub fn syevd(n: u64, vectors: bool) -> u64 {
    sytrd(n).saturating_add(if vectors { cube(n, 10, 3) } else { 0 })
}

/// Reduction to two diagonals: 8/3 n^3 when square.
pub fn gebrd(m: u64, n: u64) -> u64 {
    getrf(m, n).saturating_mul(4)
}

/// Singular values by QR first; with vectors the thin ones.
pub fn gesvd(m: u64, n: u64, vectors: bool) -> u64 {
    let (long, short) = (m.max(n), m.min(n));
    let tall = long.saturating_mul(short).saturating_mul(short);
    if vectors {
        tall.saturating_mul(6).saturating_add(cube(short, 20, 1))
    } else {
        tall.saturating_mul(2).saturating_add(cube(short, 2, 1))
    }
}

/// Unsymmetric eigenvalues by Hessenberg QR.
pub fn geev(n: u64, vectors: bool) -> u64 {
    cube(n, if vectors { 25 } else { 10 }, 1)
}

/// One sweep of one-sided Jacobi rotations over the columns of an m x n matrix, with its vectors.
pub fn sweep(m: u64, n: u64) -> u64 {
    m.saturating_mul(n).saturating_mul(n.saturating_mul(5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_counts_are_the_known_thirds() {
        let n = 300;
        assert_eq!((potrf(n) * 3, getrf(n, n) * 3, geqrf(n, n) * 3), (n.pow(3), 2 * n.pow(3), 4 * n.pow(3)));
        assert_eq!((orgqr(n, n, n) * 3, gebrd(n, n) * 3, ormqr(n, n, n)), (4 * n.pow(3), 8 * n.pow(3), 2 * n.pow(3)));
        assert_eq!(getrf(10, 300), getrf(300, 10));
    }

    #[test]
    fn huge_sizes_saturate() {
        assert!(potrf(1 << 60) > 0 && gesvd(1 << 40, 1 << 40, true) > 0 && orgqr(1 << 40, 1 << 40, 1 << 40) == 0);
    }
}
