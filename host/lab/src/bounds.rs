//! The bounds that Feyisetan and Kasiviswanathan (2021) prove about private embedding vectors.
//!
//! A vector x of d coordinates is released as w = Φx + κ: Φ has m × d Gaussian entries of variance
//! 1/m, and κ has a density proportional to exp(−ε‖κ‖/(1+β)). Logarithms are natural. All
//! statements hold with probability 1 − δ, given that Φ distorts the lengths of all vectors and
//! their differences by at most β.
//!
//! The paper's m = Ω((ω + √log(1/δ))²/β²) leaves a constant open, so whether Φ satisfies this must
//! be measured: [`undertone::pack::projection::pair_certificates`].

/// ω = √log₂ d, the Gaussian width that the paper takes for any embedding model of d coordinates.
///
/// It is the width of a simplex, and not a property of word vectors.
pub fn gaussian_width(d: usize) -> f64 {
    (d as f64).log2().sqrt()
}

/// m(β, δ, ω) = (ω + √ln(1/δ))²/β², rounded to the nearest whole number, at least 1.
///
/// The paper gives no constant. A constant of 1, with the binary logarithm in ω, reproduces its
/// three examples: for d = 300 and δ = 10⁻⁶ the paper has the dimensions 50, 100 and 200 at β =
/// 0.93, 0.66 and 0.468; this function returns 50, 100 and 198.
pub fn projected_dimension(beta: f64, delta: f64, width: f64) -> usize {
    let m = ((width + delta.recip().ln().sqrt()) / beta).powi(2);
    m.round().max(1.0) as usize
}

/// Claim 6: with probability 1 − γ the noise has ‖κ‖ ≤ m·ln(m/γ)·Δ/ε, Δ = 1 + β in the paper.
pub fn noise_norm(m: usize, gamma: f64, sensitivity: f64, epsilon: f64) -> f64 {
    let m = m as f64;
    m * (m / gamma).ln() * sensitivity / epsilon
}

/// Parameters of the mechanism and of the vectors that it releases.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Coordinates of a release.
    pub m: usize,
    /// Number of vectors that are released.
    pub n: usize,
    /// The largest norm of a vector.
    pub tau: f64,
    /// The distortion β < 1 of Φ.
    pub beta: f64,
    /// The privacy parameter per unit of distance.
    pub epsilon: f64,
    /// The probability that a statement fails.
    pub delta: f64,
}

impl Setting {
    /// 2m·ln(2nm/δ)/ε: no noise vector of n is longer. It is [`noise_norm`] with 1 + β ≤ 2 and γ =
    /// δ/2n.
    fn longest_noise(&self) -> f64 {
        noise_norm(
            self.m,
            self.delta / (2.0 * self.n as f64),
            2.0,
            self.epsilon,
        )
    }

    /// Proposition 7: for all pairs |‖wᵢ − wⱼ‖ − ‖xᵢ − xⱼ‖| ≤ 2βτ + 4m·ln(2nm/δ)/ε.
    pub fn distance(&self) -> f64 {
        2.0 * self.beta * self.tau + 2.0 * self.longest_noise()
    }

    /// Proposition 8: for all pairs |⟨wᵢ, wⱼ⟩ − ⟨xᵢ, xⱼ⟩| ≤ βτ² + 8τm·ln(2nm/δ)/ε + (2m·ln(2nm/δ)/ε)².
    pub fn inner_product(&self) -> f64 {
        let noise = self.longest_noise();
        self.beta * self.tau.powi(2) + 4.0 * self.tau * noise + noise.powi(2)
    }

    /// Proposition 9: the least mean loss of a linear model on the releases exceeds that on the
    /// vectors themselves by at most 4λm·ln(2nm/δ)·‖Θ‖/ε + λβτ‖Θ‖, for a convex loss with Lipschitz
    /// constant λ and parameters of norm at most ‖Θ‖.
    pub fn excess_loss(&self, lipschitz: f64, parameters: f64) -> f64 {
        lipschitz * parameters * (2.0 * self.longest_noise() + self.beta * self.tau)
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, Gamma, StandardNormal};
    use undertone_core::rng::PublicRng;

    use super::*;

    #[test]
    fn dimensions_are_those_of_the_paper() {
        let m = |beta| projected_dimension(beta, 1e-6, gaussian_width(300));
        for (beta, published) in [(0.93, 50), (0.66, 100), (0.468, 200)] {
            let found = m(beta);
            assert!(found.abs_diff(published) <= 2, "{beta}: {found}");
        }
        assert_eq!([m(0.5), m(0.6), m(0.7), m(0.9)], [173, 120, 89, 54]);
        assert_eq!(projected_dimension(0.99, 0.99, 0.0), 1);
    }

    fn normal(n: usize, rng: &mut PublicRng) -> Vec<f64> {
        (0..n).map(|_| StandardNormal.sample(rng)).collect()
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn norm(a: &[f64]) -> f64 {
        dot(a, a).sqrt()
    }

    /// The textbook mechanism in floating point: the bounds are about the published mechanism, not
    /// about this library's.
    fn privemb(x: &[f64], phi: &[Vec<f64>], scale: f64, rng: &mut PublicRng) -> Vec<f64> {
        let direction = normal(phi.len(), rng);
        let radius = Gamma::new(phi.len() as f64, scale).unwrap().sample(rng);
        let stretch = radius / norm(&direction);
        let noisy = phi.iter().zip(&direction);
        noisy.map(|(row, z)| dot(row, x) + stretch * z).collect()
    }

    #[test]
    fn statements_hold_on_simulated_vectors() {
        const D: usize = 60;
        const N: usize = 12;
        let mut rng = PublicRng::new(1);
        for (beta, epsilon) in [(0.9, 1.0), (0.9, 100.0), (0.7, 10.0)] {
            let m = projected_dimension(beta, 1e-3, gaussian_width(D));
            for _ in 0..20 {
                let deviation = (m as f64).sqrt().recip();
                let phi: Vec<Vec<f64>> = (0..m)
                    .map(|_| normal(D, &mut rng).iter().map(|x| x * deviation).collect())
                    .collect();
                let xs: Vec<Vec<f64>> = (0..N).map(|_| normal(D, &mut rng)).collect();
                let setting = Setting {
                    m,
                    n: N,
                    tau: xs.iter().map(|x| norm(x)).fold(0.0, f64::max),
                    beta,
                    epsilon,
                    delta: 1e-3,
                };
                let scale = (1.0 + beta) / epsilon;
                let ws: Vec<Vec<f64>> = xs
                    .iter()
                    .map(|x| privemb(x, &phi, scale, &mut rng))
                    .collect();
                for (i, (w, x)) in ws.iter().zip(&xs).enumerate() {
                    let px: Vec<f64> = phi.iter().map(|row| dot(row, x)).collect();
                    let kappa: Vec<f64> = w.iter().zip(&px).map(|(w, p)| w - p).collect();
                    assert!(norm(&kappa) <= noise_norm(m, 1e-6, 1.0 + beta, epsilon));
                    for (v, y) in ws.iter().zip(&xs).skip(i + 1) {
                        let apart = |a: &[f64], b: &[f64]| {
                            let difference: Vec<f64> =
                                a.iter().zip(b).map(|(a, b)| a - b).collect();
                            norm(&difference)
                        };
                        assert!((apart(w, v) - apart(x, y)).abs() <= setting.distance());
                        assert!((dot(w, v) - dot(x, y)).abs() <= setting.inner_product());
                    }
                }
                // The loss |⟨x, θ⟩ − y| has Lipschitz constant 1. Its minimum is 0 because y is the
                // prediction of θ, and the loss of Φθ bounds the minimum on the releases from
                // above.
                let theta: Vec<f64> = normal(D, &mut rng);
                let image: Vec<f64> = phi.iter().map(|row| dot(row, &theta)).collect();
                let losses = ws
                    .iter()
                    .zip(&xs)
                    .map(|(w, x)| (dot(w, &image) - dot(x, &theta)).abs());
                let loss = losses.sum::<f64>() / N as f64;
                assert!(loss <= setting.excess_loss(1.0, norm(&theta)), "{loss}");
            }
        }
    }

    #[test]
    fn propositions_by_hand() {
        let setting = Setting {
            m: 10,
            n: 100,
            tau: 3.0,
            beta: 0.5,
            epsilon: 2.0,
            delta: 0.01,
        };
        let log = (2.0 * 100.0 * 10.0 / 0.01f64).ln();
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        close(setting.distance(), 2.0 * 0.5 * 3.0 + 4.0 * 10.0 * log / 2.0);
        close(
            setting.inner_product(),
            0.5 * 9.0 + 8.0 * 3.0 * 10.0 * log / 2.0 + (2.0 * 10.0 * log).powi(2) / 4.0,
        );
        close(
            setting.excess_loss(0.7, 5.0),
            4.0 * 0.7 * 10.0 * log * 5.0 / 2.0 + 0.7 * 0.5 * 3.0 * 5.0,
        );
        close(
            noise_norm(10, 0.01, 1.5, 2.0),
            10.0 * 1000f64.ln() * 1.5 / 2.0,
        );
    }
}
