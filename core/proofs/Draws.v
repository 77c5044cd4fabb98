(** * Random words, and numbers drawn from them

    The code has random words of 64 bits, each uniform and independent of the others. [below] makes of two of them a
    number below n. This file proves what the finite number of bits costs: no number is further than a factor
    1 - n / 2^128 or 1 + n / 2^128 from the probability 1 / n. *)
Require Import Reals Lra Lia ZArith Psatz Arith.
Require Import List.
Require Import Undertone.Weights Undertone.Coins.
Local Open Scope R_scope.

(** The expectation of [f] over a number that is uniform below [n]; 0 if there is none. *)
Definition uniform (n : Z) (f : Z -> R) : R := sum_n (fun i => f (Z.of_nat i)) (Z.to_nat n) / IZR n.

Definition word (f : Z -> R) : R := uniform two64 f.

(** [rng::below], as written. *)
Definition below (high low n : Z) : Z :=
  let n := Z.min n two64 in ((high * n + (low * n) / two64) / two64)%Z.

(** The expectation of [f] over what [below] gives. *)
Definition draw (n : Z) (f : Z -> R) : R := word (fun high => word (fun low => f (below high low n))).

(** ** Expectations *)

Lemma uniform_ext n f g : (forall i, (0 <= i < n)%Z -> f i = g i) -> uniform n f = uniform n g.
Proof. intros H; unfold uniform; f_equal. apply sum_ext; intros; apply H; lia. Qed.

Lemma uniform_scal n k f : uniform n (fun i => k * f i) = k * uniform n f.
Proof. unfold uniform. rewrite sum_scal. unfold Rdiv; ring. Qed.

Lemma inv_nonneg n : (0 <= n)%Z -> 0 <= / IZR n.
Proof.
  intros H. destruct (Z.eq_dec n 0) as [->|]; [rewrite Rinv_0; lra|].
  left; apply Rinv_0_lt_compat, IZR_lt; lia.
Qed.

Lemma uniform_le n f g : (0 <= n)%Z -> (forall i, (0 <= i < n)%Z -> f i <= g i) -> uniform n f <= uniform n g.
Proof.
  intros Hn H; unfold uniform. apply Rmult_le_compat_r; [apply inv_nonneg; assumption|].
  apply sum_le; intros; apply H; lia.
Qed.

Lemma uniform_const n c : (0 < n)%Z -> uniform n (fun _ => c) = c.
Proof.
  intros Hn; unfold uniform. rewrite sum_const, INR_IZR_INZ, Z2Nat.id by lia.
  field. apply not_0_IZR; lia.
Qed.

Lemma uniform_nonneg n f : (0 <= n)%Z -> (forall i, (0 <= i < n)%Z -> 0 <= f i) -> 0 <= uniform n f.
Proof.
  intros Hn H. destruct (Z.eq_dec n 0) as [->|]; [unfold uniform; simpl; unfold Rdiv; lra|].
  rewrite <- (uniform_const n 0) by lia. apply uniform_le; assumption.
Qed.

Lemma uniform_none n f : (forall i, (0 <= i < n)%Z -> f i = 0) -> uniform n f = 0.
Proof.
  intros H. rewrite (uniform_ext n f (fun i => 0 * f i)); [rewrite uniform_scal; ring|].
  intros; rewrite H by assumption; ring.
Qed.

(** [s] numbers in a row out of [n]. *)
Lemma uniform_interval n a s f c : (0 <= a)%Z -> (0 <= s)%Z -> (a + s <= n)%Z ->
  (forall i, (a <= i < a + s)%Z -> f i = c) ->
  (forall i, (0 <= i < n)%Z -> ~ (a <= i < a + s)%Z -> f i = 0) ->
  uniform n f = IZR s / IZR n * c.
Proof.
  intros Ha Hs Hn In Out. unfold uniform.
  replace (Z.to_nat n) with (Z.to_nat a + (Z.to_nat s + Z.to_nat (n - a - s)))%nat by lia.
  rewrite !sum_add.
  rewrite (sum_ext (fun i => f (Z.of_nat i)) (fun _ => 0)) by (intros; apply Out; lia).
  rewrite (sum_ext (fun i => f (Z.of_nat (Z.to_nat a + i))) (fun _ => c)) by (intros; apply In; lia).
  rewrite (sum_ext (fun i => f (Z.of_nat (Z.to_nat a + (Z.to_nat s + i)))) (fun _ => 0))
    by (intros; apply Out; lia).
  rewrite !sum_const, (INR_IZR_INZ (Z.to_nat s)), Z2Nat.id by lia. unfold Rdiv; ring.
Qed.

(** A coin: of 2^64 words, [w] are below [w]. *)
Theorem coin_exact w h t : (0 <= w <= two64)%Z ->
  word (fun u => if (u <? w)%Z then h else t) = IZR w / IZR two64 * h + (1 - IZR w / IZR two64) * t.
Proof.
  intros Hw. pose proof two64_pos. unfold word.
  assert (W : IZR two64 <> 0) by (apply not_0_IZR; lia).
  unfold uniform. replace (Z.to_nat two64) with (Z.to_nat w + Z.to_nat (two64 - w))%nat by lia.
  rewrite sum_add.
  rewrite (sum_ext (fun i => if (Z.of_nat i <? w)%Z then h else t) (fun _ => h))
    by (intros; destruct (Z.ltb_spec (Z.of_nat i) w); [reflexivity | lia]).
  rewrite (sum_ext (fun i => if (Z.of_nat (Z.to_nat w + i) <? w)%Z then h else t) (fun _ => t))
    by (intros; destruct (Z.ltb_spec (Z.of_nat (Z.to_nat w + i)) w); [lia | reflexivity]).
  rewrite !sum_const, !INR_IZR_INZ, !Z2Nat.id, minus_IZR by lia. field; assumption.
Qed.

(** ** [below] is the floor of U * n / 2^128 *)

Lemma below_floor high low n : (0 <= low < two64)%Z -> (0 <= high)%Z -> (0 <= n <= two64)%Z ->
  below high low n = ((high * two64 + low) * n / (two64 * two64))%Z.
Proof.
  intros Hl Hh Hn. unfold below. rewrite Z.min_l by lia. pose proof two64_pos as P.
  generalize dependent two64; intros m Hl Hn P.
  rewrite <- Z.div_div by lia.
  replace ((high * m + low) * n)%Z with (low * n + (high * n) * m)%Z by ring.
  rewrite Z.div_add by lia. f_equal; ring.
Qed.

(** Two words are one number of 128 bits. *)
Lemma sum_pairs (f : nat -> R) a b :
  sum_n (fun i => sum_n (fun j => f (i * b + j)%nat) b) a = sum_n f (a * b).
Proof.
  induction a as [|a IH]; [reflexivity|]. cbn [sum_n]. rewrite IH.
  replace (S a * b)%nat with (a * b + b)%nat by lia. rewrite sum_add. reflexivity.
Qed.

Lemma two_words m f : (0 < m)%Z ->
  uniform m (fun high => uniform m (fun low => f (high * m + low)%Z)) = uniform (m * m) f.
Proof.
  intros Hm; unfold uniform. rewrite Z2Nat.inj_mul by lia. rewrite <- sum_pairs.
  rewrite (sum_ext (fun i => sum_n (fun i0 => f (Z.of_nat i * m + Z.of_nat i0)%Z) (Z.to_nat m) / IZR m)
    (fun i => / IZR m * sum_n (fun j => f (Z.of_nat (i * Z.to_nat m + j))) (Z.to_nat m))).
  - rewrite sum_scal, mult_IZR. field. apply not_0_IZR; lia.
  - intros i _. unfold Rdiv; rewrite Rmult_comm. f_equal. apply sum_ext; intros j _.
    f_equal. rewrite Nat2Z.inj_add, Nat2Z.inj_mul, Z2Nat.id by lia. reflexivity.
Qed.

(** ** What it costs *)

Definition two128 : Z := two64 * two64.

(** The numbers U that give [d] are those from [first d] to [first (d + 1)]. *)
Definition first (n d : Z) : Z := up (d * two128) n.

Lemma first_spec n d U : (0 < n)%Z -> (U * n / two128 = d <-> first n d <= U < first n (d + 1))%Z.
Proof.
  intros Hn. assert (HN : (0 < two128)%Z) by reflexivity.
  assert (A : (first n d <= U <-> d * two128 <= U * n)%Z) by (apply up_spec; assumption).
  assert (B : (first n (d + 1) <= U <-> (d + 1) * two128 <= U * n)%Z) by (apply up_spec; assumption).
  pose proof (Z.div_mod (U * n) two128 ltac:(discriminate)).
  pose proof (Z.mod_pos_bound (U * n) two128 HN).
  generalize dependent two128; intros N HN A B D M.
  split; intros Hx; [subst d; split; [apply A | apply Z.nle_gt; rewrite B]; nia|].
  assert (d * N <= U * n)%Z by (apply A; lia).
  assert (~ (d + 1) * N <= U * n)%Z by (rewrite <- B; lia). nia.
Qed.

(** There are 2^128 / n of them, within one. *)
Lemma first_count n d : (0 < n)%Z -> (0 <= d)%Z ->
  let c := (first n (d + 1) - first n d)%Z in (two128 - n < c * n < two128 + n)%Z /\ (0 <= first n d)%Z.
Proof.
  intros Hn Hd; cbv zeta; unfold first, up. assert (HN : (0 < two128)%Z) by reflexivity.
  generalize dependent two128; intros N HN.
  pose proof (Z.div_mod ((d + 1) * N + (n - 1)) n ltac:(lia)).
  pose proof (Z.mod_pos_bound ((d + 1) * N + (n - 1)) n Hn).
  pose proof (Z.div_mod (d * N + (n - 1)) n ltac:(lia)).
  pose proof (Z.mod_pos_bound (d * N + (n - 1)) n Hn).
  split; [nia|]. apply Z.div_pos; [nia | lia].
Qed.

(** The probability of each number. *)
Definition chance (n d : Z) : R := IZR (first n (d + 1) - first n d) / IZR two128.

Lemma draw_sum n f : (0 < n <= two64)%Z ->
  draw n f = sum_n (fun d => chance n (Z.of_nat d) * f (Z.of_nat d)) (Z.to_nat n).
Proof.
  intros Hn. pose proof two64_pos as P. unfold draw, word.
  rewrite (uniform_ext _ _ (fun high => uniform two64 (fun low => f ((high * two64 + low) * n / two128)%Z)))
    by (intros; apply uniform_ext; intros; rewrite below_floor by lia; reflexivity).
  rewrite (two_words two64 (fun U => f (U * n / two128)%Z) P). fold two128.
  assert (T : forall k, (Z.of_nat k <= n)%Z ->
    sum_n (fun i => f (Z.of_nat i * n / two128)%Z) (Z.to_nat (first n (Z.of_nat k)))
    = IZR two128 * sum_n (fun d => chance n (Z.of_nat d) * f (Z.of_nat d)) k).
  { induction k as [|k IH]; intros Hk.
    - simpl sum_n at 2. rewrite Rmult_0_r. replace (first n (Z.of_nat 0)) with 0%Z; [reflexivity|].
      unfold first, up. simpl Z.of_nat. rewrite Z.mul_0_l, Z.add_0_l. symmetry; apply Z.div_small; lia.
    - rewrite Nat2Z.inj_succ in Hk |- *. unfold Z.succ in *. set (d := Z.of_nat k) in *.
      pose proof (first_count n d ltac:(lia) ltac:(lia)) as [[C1 C2] C3].
      pose proof (first_spec n d) as S.
      replace (Z.to_nat (first n (d + 1)))
        with (Z.to_nat (first n d) + Z.to_nat (first n (d + 1) - first n d))%nat.
      + rewrite sum_add, IH by lia.
        rewrite (sum_ext (fun i => f (Z.of_nat (Z.to_nat (first n d) + i) * n / two128)%Z) (fun _ => f d)).
        * cbn [sum_n]. fold d. rewrite sum_const, INR_IZR_INZ, Z2Nat.id.
          -- unfold chance. field. apply not_0_IZR; discriminate.
          -- assert (HN : (n <= two128)%Z) by (unfold two128; nia). nia.
        * intros i Hi. f_equal. apply S; lia.
      + assert (HN : (n <= two128)%Z) by (unfold two128; nia).
        rewrite <- Z2Nat.inj_add; [f_equal; lia | lia | nia]. }
  unfold uniform. specialize (T (Z.to_nat n)). rewrite Z2Nat.id in T by lia.
  specialize (T ltac:(lia)).
  assert (Fn : first n n = two128).
  { unfold first, up. rewrite (Z.mul_comm n), Z.div_add_l by lia. rewrite Z.div_small by lia. lia. }
  rewrite Fn in T. rewrite T. field. apply not_0_IZR; discriminate.
Qed.

(** What [below] promises: each number has the probability 1 / n within the factors 1 -+ n / 2^128. So have
    expectations of what is not negative. [m] is a public bound on n. *)
Definition delta (m : Z) : R := IZR m / IZR two128.

Theorem draw_within n m f : (0 < n <= m)%Z -> (m <= two64)%Z -> (forall i, (0 <= i < n)%Z -> 0 <= f i) ->
  (1 - delta m) * uniform n f <= draw n f <= (1 + delta m) * uniform n f.
Proof.
  intros Hn Hm Hf. rewrite draw_sum by lia. unfold uniform.
  assert (N : 0 < IZR n) by (apply IZR_lt; lia).
  assert (HN : 0 < IZR two128) by (apply IZR_lt; reflexivity).
  assert (Hnm : IZR n <= IZR m) by (apply IZR_le; lia).
  unfold Rdiv at 1 2. rewrite (Rmult_comm _ (/ IZR n)), <- 2 Rmult_assoc, <- 2 sum_scal.
  assert (B : forall d, (0 <= d)%Z -> (1 - delta m) * / IZR n <= chance n d <= (1 + delta m) * / IZR n).
  { intros d Hd. destruct (first_count n d ltac:(lia) Hd) as [[A B] _].
    unfold chance, delta. set (c := (first n (d + 1) - first n d)%Z) in *; clearbody c.
    apply IZR_lt in A, B. rewrite minus_IZR, mult_IZR in A. rewrite plus_IZR, mult_IZR in B.
    set (q := IZR two128) in *; clearbody q.
    assert (K : 0 < / (q * IZR n)) by (apply Rinv_0_lt_compat; nra).
    replace ((1 - IZR m / q) * / IZR n) with ((q - IZR m) * / (q * IZR n)) by (field; lra).
    replace ((1 + IZR m / q) * / IZR n) with ((q + IZR m) * / (q * IZR n)) by (field; lra).
    replace (IZR c / q) with (IZR c * IZR n * / (q * IZR n)) by (field; lra).
    split; (apply Rmult_le_compat_r; lra). }
  split; apply sum_le; intros i Hi; apply Rmult_le_compat_r; try (apply Hf; lia); apply B; lia.
Qed.

Lemma delta_range m : (0 < m <= two64)%Z -> 0 < delta m < 1.
Proof.
  intros Hm. unfold delta. assert (0 < IZR two128) by (apply IZR_lt; reflexivity).
  split; [apply Rdiv_lt_0_compat; [apply IZR_lt; lia | assumption]|].
  apply Rmult_lt_reg_r with (IZR two128); [assumption|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra. apply IZR_lt.
  assert (two64 < two128)%Z by reflexivity. lia.
Qed.

(** The two draws of a selection: one below a total of weights, at most 2^64, then one of an index. An index is below
    2^16 in select.rs, below 2^24 in projective.rs. Together they cost the factors of both. *)
Definition many : Z := 2 ^ 24.
Definition low : R := (1 - delta two64) * (1 - delta many).
Definition high : R := (1 + delta two64) * (1 + delta many).

Lemma deltas : 0 < delta two64 < 1 /\ 0 < delta many < 1.
Proof. split; apply delta_range; split; reflexivity || discriminate. Qed.

Lemma low_pos : 0 < low.
Proof. destruct deltas. unfold low; apply Rmult_lt_0_compat; lra. Qed.

Lemma high_pos : 0 <= high.
Proof. destruct deltas. unfold high; apply Rmult_le_pos; lra. Qed.

Theorem two_draws_within n size f : (0 < n <= two64)%Z -> (forall t, (0 <= t < n)%Z -> (0 < size t <= many)%Z) ->
  (forall t i, 0 <= f t i) ->
  low * uniform n (fun t => uniform (size t) (f t)) <= draw n (fun t => draw (size t) (f t))
  <= high * uniform n (fun t => uniform (size t) (f t)).
Proof.
  intros Hn Hs Hf. destruct deltas as [D64 D].
  assert (M : (many <= two64)%Z) by (vm_compute; discriminate).
  assert (I : forall t, (0 <= t < n)%Z ->
    (1 - delta many) * uniform (size t) (f t) <= draw (size t) (f t) <= (1 + delta many) * uniform (size t) (f t)
    /\ 0 <= uniform (size t) (f t)).
  { intros t Ht. specialize (Hs t Ht). split; [apply draw_within; auto | apply uniform_nonneg; [lia | auto]]. }
  set (outer := fun D : Z -> (Z -> R) -> R => uniform n (fun t => D (size t) (f t))).
  assert (A : (1 - delta two64) * outer draw <= draw n (fun t => draw (size t) (f t))
              <= (1 + delta two64) * outer draw).
  { apply draw_within; [lia | lia |]. intros t Ht; destruct (I t Ht) as [[X _] Y]. nra. }
  assert (B1 : (1 - delta many) * outer uniform <= outer draw).
  { unfold outer. rewrite <- uniform_scal. apply uniform_le; [lia|].
    intros t Ht; destruct (I t Ht) as [[X _] _]; exact X. }
  assert (B2 : outer draw <= (1 + delta many) * outer uniform).
  { unfold outer. rewrite <- uniform_scal. apply uniform_le; [lia|].
    intros t Ht; destruct (I t Ht) as [[_ X] _]; exact X. }
  fold (outer uniform). unfold low, high. split; rewrite Rmult_assoc.
  - apply Rle_trans with ((1 - delta two64) * outer draw); [apply Rmult_le_compat_l; lra | apply A].
  - apply Rle_trans with ((1 + delta two64) * outer draw); [apply A | apply Rmult_le_compat_l; lra].
Qed.
