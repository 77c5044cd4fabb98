(** * The selection is private, random bits included

    The main theorems. Everything in them is what a device computes: the 30 constants and C, the weights, the
    histogram, the coins and draws made of random words. What is assumed is that the words are uniform and
    independent. *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import List Arith.
Require Import Undertone.Integral Undertone.Coins Undertone.Weights Undertone.Constant Undertone.Draws.
Require Import Undertone.Steps Undertone.Select.
Import ListNotations.
Local Open Scope R_scope.

(** ** What the "+4" of C pays *)

(** 4 / 2^64 *)
Definition spare : R := / IZR (2 ^ 62).

Lemma spare_pos : 0 < spare.
Proof. apply Rinv_0_lt_compat, IZR_lt; reflexivity. Qed.

(** Both draws, before a step and after it, cost less than one factor 1 + 2^-62. *)
Theorem draws_paid : high <= low * (1 + spare).
Proof.
  unfold high, low, delta, spare.
  assert (A : 0 < IZR two128) by (apply IZR_lt; reflexivity).
  assert (B : 0 < IZR (2 ^ 62)) by (apply IZR_lt; reflexivity).
  assert (K : ((two128 + two64) * (two128 + many) * 2 ^ 62 <= (two128 - two64) * (two128 - many) * (2 ^ 62 + 1))%Z)
    by (vm_compute; discriminate).
  apply IZR_le in K. rewrite !mult_IZR, !plus_IZR, !minus_IZR in K.
  set (a := IZR two128) in *; set (b := IZR (2 ^ 62)) in *; set (m := IZR two64) in *; set (f := IZR many) in *.
  clearbody a b m f. apply Rmult_le_reg_r with (a * a * b); [apply Rmult_lt_0_compat; nra|].
  replace ((1 + m / a) * (1 + f / a) * (a * a * b)) with ((a + m) * (a + f) * b) by (field; lra).
  replace ((1 - m / a) * (1 - f / a) * (1 + / b) * (a * a * b)) with ((a - m) * (a - f) * (b + 1)) by (field; lra).
  exact K.
Qed.

(** C >= 2^64 * e^-eta + 4 leaves that factor: (1 + 2^-62) * rho <= e^eta. *)
Theorem four_pays C eta : 0 <= eta -> (0 < C)%Z -> IZR two64 * exp (- eta) + 4 <= IZR C ->
  (1 + spare) * rho_of C <= exp eta.
Proof.
  intros He HC H. apply IZR_lt in HC. pose proof (exp_pos eta) as P.
  assert (X : exp eta * exp (- eta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (G : 1 <= exp eta).
  { destruct (Req_dec eta 0) as [->|]; [rewrite exp_0; lra|].
    left; rewrite <- exp_0 at 1; apply exp_increasing; lra. }
  apply Rmult_le_reg_r with (IZR C); [assumption|].
  assert (T : spare * IZR two64 = 4).
  { unfold spare. assert (B : 0 < IZR (2 ^ 62)) by (apply IZR_lt; reflexivity).
    replace two64 with (2 ^ 62 * 4)%Z by reflexivity. rewrite mult_IZR, <- Rmult_assoc, Rinv_l; lra. }
  replace ((1 + spare) * rho_of C * IZR C) with (IZR two64 + spare * IZR two64) by (unfold rho_of; field; lra).
  rewrite T. apply Rle_trans with (exp eta * (IZR two64 * exp (- eta) + 4)); [|nra].
  replace (exp eta * (IZR two64 * exp (- eta) + 4)) with (exp eta * exp (- eta) * IZR two64 + 4 * exp eta) by ring.
  rewrite X; lra.
Qed.

(** ** From the ideal laws to what the code draws *)

Lemma ideal_within how C bound levels r : (0 < C < two64)%Z -> (1 <= bound)%nat ->
  (Z.of_nat (length levels) <= few)%Z -> (r < length levels)%nat ->
  let m := ideal how (fractions C (first_weight how) bound levels) r in
  low * m <= selects how C bound levels r <= high * m /\ 0 <= m.
Proof.
  intros HC Hb Hm Hr. cbv zeta.
  assert (H0 : (1 <= first_weight how <= two64)%Z) by (destruct how; split; discriminate).
  pose proof (fractions_positive C (first_weight how) bound HC H0 levels) as P.
  pose proof (fractions_len C (first_weight how) bound levels) as L.
  destruct how; cbn [ideal first_weight] in *; split.
  - apply permute_and_flip_within; assumption.
  - apply head_law_nonneg; [apply positive_unit; assumption | lia].
  - apply exponential_within; assumption.
  - pose proof (sum_pos _ r P ltac:(lia)) as S. pose proof (Forall_at _ _ 0 r P ltac:(lia)) as W; cbv beta in W.
    unfold share. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; assumption].
Qed.

Lemma ideal_steady how rho : 1 <= rho -> steady rho (ideal how).
Proof. destruct how; [apply flip_steady | apply share_steady]. Qed.

Lemma near_bits k m m' b b' : 0 <= k -> 0 <= m -> 0 <= m' -> near k m m' ->
  low * m <= b <= high * m -> low * m' <= b' <= high * m' -> near ((1 + spare) * k) b b'.
Proof.
  intros Hk Hm Hm' [N N'] B B'. pose proof draws_paid as D. pose proof low_pos as L. pose proof spare_pos as S.
  assert (X : forall u u' c c', 0 <= u' -> u <= k * u' -> c <= high * u -> low * u' <= c' ->
    c <= (1 + spare) * k * c').
  { intros u u' c c' Hu Hn Hc Hc'. apply Rle_trans with (1 := Hc).
    apply Rle_trans with (high * (k * u')); [apply Rmult_le_compat_l; [apply high_pos | assumption]|].
    apply Rle_trans with (low * (1 + spare) * (k * u')).
    - apply Rmult_le_compat_r; [apply Rmult_le_pos|]; assumption.
    - replace (low * (1 + spare) * (k * u')) with ((1 + spare) * k * (low * u')) by ring.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | assumption]. }
  split; [apply (X m m') | apply (X m' m)]; tauto.
Qed.

Lemma exp_INR k eta : exp (INR k * eta) = exp eta ^ k.
Proof.
  induction k; [simpl; rewrite Rmult_0_l; apply exp_0|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus, IHk. simpl; ring.
Qed.

(** [k] steps, with C for eta a step. *)
Theorem steps_private how C bound eta k l l' r : (0 < C < two64)%Z -> (1 <= bound)%nat -> 0 <= eta ->
  IZR two64 * exp (- eta) + 4 <= IZR C -> (1 <= k)%nat -> chain k l l' ->
  (Z.of_nat (length l) <= few)%Z -> (r < length l)%nat ->
  near (exp (INR k * eta)) (selects how C bound l r) (selects how C bound l' r).
Proof.
  intros HC Hb He H4 Hk F Hm Hr. pose proof (chain_len _ _ _ F) as Len. pose proof (rho_ge_1 C HC) as R1.
  assert (H0 : (1 <= first_weight how <= two64)%Z) by (destruct how; split; discriminate).
  destruct (ideal_within how C bound l r HC Hb Hm Hr) as [B P].
  destruct (ideal_within how C bound l' r HC Hb ltac:(lia) ltac:(lia)) as [B' P'].
  pose proof (chain_near C (first_weight how) bound HC H0 (ideal how) (ideal_steady how _ R1) k l l' r F Hr) as N.
  assert (Rk : 0 <= rho_of C ^ k) by (apply pow_le; lra).
  pose proof (near_bits _ _ _ _ _ Rk P P' N B B') as [X X'].
  assert (L : (1 + spare) * rho_of C ^ k <= exp (INR k * eta)).
  { pose proof spare_pos. rewrite exp_INR. apply Rle_trans with (((1 + spare) * rho_of C) ^ k).
    - rewrite Rpow_mult_distr. apply Rmult_le_compat_r; [assumption|].
      rewrite <- (pow_1 (1 + spare)) at 1. apply Rle_pow; [lra | lia].
    - apply pow_incr; split; [nra | apply four_pays; [assumption | lia | assumption]]. }
  pose proof low_pos. split; [apply Rle_trans with (1 := X) | apply Rle_trans with (1 := X')];
    (apply Rmult_le_compat_r; [nra | exact L]).
Qed.

Lemma largest_pays :
  (1 + spare) * (rho_of (two64 - 1) * rho_of (two64 - 1)) <= exp (1 / 1000000 / 2).
Proof.
  set (C := (two64 - 1)%Z).
  apply Rle_trans with (1 + 1 / 1000000 / 2); [|left; apply exp_ineq1; lra].
  unfold spare, rho_of.
  assert (K : ((2 ^ 62 + 1) * (two64 * two64) * 2000000 <= 2000001 * (2 ^ 62 * (C * C)))%Z)
    by (vm_compute; discriminate).
  apply IZR_le in K. rewrite !mult_IZR, plus_IZR in K.
  assert (A1 : 0 < IZR (2 ^ 62)) by (apply IZR_lt; reflexivity).
  assert (A2 : 0 < IZR C) by (apply IZR_lt; reflexivity).
  set (a := IZR (2 ^ 62)) in *; set (c := IZR C) in *; set (t := IZR two64) in *; clearbody a c t.
  apply Rmult_le_reg_r with (a * (c * c) * 2000000); [assert (0 < c * c) by nra; nra|].
  replace ((1 + / a) * (t / c * (t / c)) * (a * (c * c) * 2000000)) with ((a + 1) * (t * t) * 2000000)
    by (field; lra).
  replace ((1 + 1 / 1000000 / 2) * (a * (c * c) * 2000000)) with (2000001 * (a * (c * c))) by field.
  exact K.
Qed.

(** The largest C, 2^64 - 1: any two lists of levels whatever are within e^(2^-21), less than the least eps has. *)
Theorem largest_private how bound l l' r : (1 <= bound)%nat -> length l = length l' ->
  (Z.of_nat (length l) <= few)%Z -> (r < length l)%nat ->
  near (exp (1 / 1000000 / 2)) (selects how (two64 - 1) bound l r) (selects how (two64 - 1) bound l' r).
Proof.
  intros Hb Len Hm Hr. set (C := (two64 - 1)%Z). assert (HC : (0 < C < two64)%Z) by (split; reflexivity).
  destruct (ideal_within how C bound l r HC Hb Hm Hr) as [B P].
  destruct (ideal_within how C bound l' r HC Hb ltac:(lia) ltac:(lia)) as [B' P'].
  pose proof (rho_ge_1 C HC) as R1.
  assert (Hw : first_weight how = two64 \/ first_weight how = (2 ^ 48)%Z) by (destruct how; auto).
  pose proof (flat_near _ bound _ l l' r Hw (ideal_steady how _ R1) Len Hr) as N. fold C in N.
  assert (Rk : 0 <= rho_of C * rho_of C) by nra.
  pose proof (near_bits _ _ _ _ _ Rk P P' N B B') as [X X'].
  pose proof largest_pays as L. fold C in L.
  pose proof low_pos. split; [apply Rle_trans with (1 := X) | apply Rle_trans with (1 := X')];
    (apply Rmult_le_compat_r; [nra | exact L]).
Qed.

(** ** For every eps *)

(** The largest eps, 1000, in micro-units. *)
Definition max_micro : Z := 1000000000.

(** eps of so many micro-units *)
Definition eps (micro : Z) : R := IZR micro / 1000000.

(** Any number of steps, at any eps a step: the constants of the code promise it, whichever case C is in. The
    total may be above what the steps add up to only where C is 2^64 - 1, and then it is e^(2^-21) at most. *)
Theorem micro_private how micro bound k l l' r : (0 <= micro <= max_micro)%Z -> (1 <= bound)%nat -> (1 <= k)%nat ->
  chain k l l' -> (Z.of_nat (length l) <= few)%Z -> (r < length l)%nat ->
  near (Rmax (exp (INR k * (eps micro / 2))) (exp (1 / 1000000 / 2)))
    (selects how (from_micro micro) bound l r) (selects how (from_micro micro) bound l' r).
Proof.
  intros Hu Hb Hk F Hm Hr. pose proof (chain_len _ _ _ F) as Len.
  assert (Z30 : (max_micro < 2 ^ 30)%Z) by reflexivity.
  pose proof (constant_range micro) as HC. pose proof (constant_above micro ltac:(lia)) as A.
  fold (eps micro) in A. set (C := from_micro micro) in *; clearbody C. clear Z30.
  destruct (ideal_within how C bound l r HC Hb Hm Hr) as [B P].
  destruct (ideal_within how C bound l' r HC Hb ltac:(lia) ltac:(lia)) as [B' P'].
  assert (N : 0 <= selects how C bound l r /\ 0 <= selects how C bound l' r).
  { pose proof low_pos. split; nra. }
  destruct N as [N N'].
  destruct (Z.eq_dec C (two64 - 1)) as [->|n].
  - destruct (largest_private how bound l l' r Hb Len Hm Hr) as [X Y].
    split; [apply Rle_trans with (1 := X) | apply Rle_trans with (1 := Y)];
      (apply Rmult_le_compat_r; [assumption | apply Rmax_r]).
  - assert (He : 0 <= eps micro / 2).
    { unfold eps. assert (0 <= IZR micro) by (apply IZR_le; lia). lra. }
    destruct (steps_private how C bound (eps micro / 2) k l l' r HC Hb He (A ltac:(lia)) Hk F Hm Hr) as [X Y].
    split; [apply Rle_trans with (1 := X) | apply Rle_trans with (1 := Y)];
      (apply Rmult_le_compat_r; [assumption | apply Rmax_l]).
Qed.

(** [Ratio::per_step] *)
Definition per_step (micro Q : Z) : Z := from_micro (micro / Q).

(** [j] times [Q] steps, with the ratio for eps / Q a step, cost e^(j * eps / 2). *)
Theorem per_step_private how micro Q j bound l l' r : (1 <= micro <= max_micro)%Z -> (1 <= Q)%nat -> (1 <= j)%nat ->
  (1 <= bound)%nat -> chain (j * Q) l l' -> (Z.of_nat (length l) <= few)%Z -> (r < length l)%nat ->
  near (exp (INR j * (eps micro / 2)))
    (selects how (per_step micro (Z.of_nat Q)) bound l r) (selects how (per_step micro (Z.of_nat Q)) bound l' r).
Proof.
  intros Hu HQ Hj Hb F Hm Hr. unfold per_step. set (u := (micro / Z.of_nat Q)%Z).
  assert (Hd : (0 <= u /\ Z.of_nat Q * u <= micro)%Z).
  { unfold u. split; [apply Z.div_pos; lia | apply Z.mul_div_le; lia]. }
  assert (Hk : (1 <= j * Q)%nat) by nia. assert (Hu' : (0 <= u <= max_micro)%Z) by nia.
  pose proof (micro_private how u bound (j * Q) l l' r Hu' Hb Hk F Hm Hr) as [X Y].
  assert (Le : Rmax (exp (INR (j * Q) * (eps u / 2))) (exp (1 / 1000000 / 2)) <= exp (INR j * (eps micro / 2))).
  { assert (E : forall a b, a <= b -> exp a <= exp b).
    { intros a b [H| ->]; [left; apply exp_increasing; assumption | right; reflexivity]. }
    assert (J1 : 1 <= INR j) by (apply (le_INR 1); assumption).
    assert (M1 : 1 <= IZR micro) by (apply IZR_le; lia).
    destruct Hd as [Hd0 Hd1]. apply IZR_le in Hd0, Hd1. rewrite mult_IZR, <- INR_IZR_INZ in Hd1.
    apply Rmax_lub; apply E; unfold eps; [rewrite mult_INR|]; nra. }
  pose proof (chain_len _ _ _ F) as Len.
  destruct (ideal_within how (from_micro u) bound l r (constant_range u) Hb Hm Hr) as [B P].
  destruct (ideal_within how (from_micro u) bound l' r (constant_range u) Hb ltac:(lia) ltac:(lia)) as [B' P'].
  pose proof low_pos. split; [apply Rle_trans with (1 := X) | apply Rle_trans with (1 := Y)];
    (apply Rmult_le_compat_r; [nra | exact Le]).
Qed.

(** *** The main theorems

    For every eps from 0.000001 to 1000, every Q, every bound, up to 65 536 candidates and either rule: *)

(** one neighbour moves levels by up to Q, some up and some down: e^eps; *)
Theorem mixed_private how micro Q bound l l' r :
  (1 <= micro <= max_micro)%Z -> (1 <= Q)%nat -> (1 <= bound)%nat ->
  Forall2 (fun x y => x <= y + Q /\ y <= x + Q)%nat l l' -> (Z.of_nat (length l) <= few)%Z -> (r < length l)%nat ->
  near (exp (eps micro))
    (selects how (per_step micro (Z.of_nat Q)) bound l r) (selects how (per_step micro (Z.of_nat Q)) bound l' r).
Proof.
  intros Hu HQ Hb F Hm Hr. replace (eps micro) with (INR 2 * (eps micro / 2)) by (simpl; field).
  apply per_step_private; try assumption; [lia | apply chain_mixed; assumption].
Qed.

(** all levels move by up to Q the same way: e^(eps/2). *)
Theorem one_sided_private how micro Q bound l l' r :
  (1 <= micro <= max_micro)%Z -> (1 <= Q)%nat -> (1 <= bound)%nat ->
  Forall2 (fun x y => x <= y <= x + Q)%nat l l' -> (Z.of_nat (length l) <= few)%Z -> (r < length l)%nat ->
  near (exp (eps micro / 2))
    (selects how (per_step micro (Z.of_nat Q)) bound l r) (selects how (per_step micro (Z.of_nat Q)) bound l' r).
Proof.
  intros Hu HQ Hb F Hm Hr. replace (eps micro / 2) with (INR 1 * (eps micro / 2)) by (simpl; field).
  apply per_step_private; try assumption; [lia | rewrite Nat.mul_1_l; apply chain_one_way; assumption].
Qed.
