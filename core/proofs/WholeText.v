(** * The whole text as the unit

    By the whole-text rule the exponential mechanism draws from levels of which one is 0, that of the best outcome,
    and all others are 1. Whatever outcome is best, the weights have the same sum. So one step of the ratio is all
    that two texts can differ by, and the ratio may be that of 2 eps: e^eps for any two texts whatever. *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import List Arith.
Require Import Undertone.Integral Undertone.Coins Undertone.Weights Undertone.Constant Undertone.Draws.
Require Import Undertone.Steps Undertone.Select Undertone.Private.
Import ListNotations.
Local Open Scope R_scope.

(** [OneBest] *)
Definition one_best (best outcomes : nat) : list nat :=
  map (fun i => if (i =? best)%nat then O else 1%nat) (seq 0 outcomes).

(** [Ratio::per_unit] with the exponent 1 *)
Definition per_unit_1 (micro : Z) : Z := from_micro (Z.min (2 * micro) max_micro).

(** The probability of outcome [r]. *)
Definition whole_text (micro : Z) (best outcomes r : nat) : R :=
  selects Exponential (per_unit_1 micro) 2 (one_best best outcomes) r.

Section Law.
Variables (C : Z) (outcomes : nat).
Hypothesis HC : (0 < C < two64)%Z.
Let W0 : Z := 2 ^ 48.
Let w : R := fraction C W0 1.

Lemma one_best_fractions best : (best < outcomes)%nat ->
  fractions C W0 2 (one_best best outcomes) = map (fun i => if (i =? best)%nat then 1 else w) (seq 0 outcomes).
Proof.
  intros H. unfold fractions, relative, one_best.
  assert (E : map (cut 2) (map (fun i => if (i =? best)%nat then O else 1%nat) (seq 0 outcomes))
    = map (fun i => if (i =? best)%nat then O else 1%nat) (seq 0 outcomes)).
  { rewrite map_map. apply map_ext. intros i. destruct (i =? best)%nat; reflexivity. }
  rewrite E. set (l := map (fun i => if (i =? best)%nat then O else 1%nat) (seq 0 outcomes)).
  assert (L : least l = O).
  { assert (I : In O l).
    { apply in_map_iff. exists best. rewrite Nat.eqb_refl. split; [reflexivity | apply in_seq; lia]. }
    apply least_le in I. lia. }
  rewrite L. unfold l. rewrite map_map. apply map_ext. intros i. destruct (i =? best)%nat; [|reflexivity].
  unfold fraction; cbn [weight Nat.sub]. unfold W0. field. apply not_0_IZR; discriminate.
Qed.

(** The sum of the weights does not depend on which outcome is best. *)
Theorem same_sum best : (best < outcomes)%nat ->
  sum (fractions C W0 2 (one_best best outcomes)) = 1 + INR (outcomes - 1) * w.
Proof.
  intros H. rewrite one_best_fractions by assumption.
  assert (G : forall n a, sum (map (fun i => if (i =? best)%nat then 1 else w) (seq a n))
    = if ((a <=? best) && (best <? a + n))%nat%bool then 1 + INR (n - 1) * w else INR n * w).
  { induction n as [|n IH]; intros a.
    - destruct (Nat.leb_spec a best), (Nat.ltb_spec best (a + 0)); simpl; try lra; lia.
    - cbn [seq map]. change (sum (?x :: ?y)) with (x + sum y). rewrite IH.
      destruct (Nat.eqb_spec a best), (Nat.leb_spec (S a) best), (Nat.leb_spec a best),
        (Nat.ltb_spec best (S a + n)), (Nat.ltb_spec best (a + S n)); cbn [andb]; try lia;
        replace (S n - 1)%nat with n by lia; try rewrite S_INR; try lra.
      replace n with (S (n - 1)) at 2 by lia. rewrite S_INR. lra. }
  rewrite G. cbn [Nat.leb andb]. destruct (Nat.ltb_spec best (0 + outcomes)); [reflexivity | lia].
Qed.

(** So any two texts are within one rho. *)
Theorem whole_text_step b b' r : (b < outcomes)%nat -> (b' < outcomes)%nat -> (r < outcomes)%nat ->
  near (rho_of C) (share (fractions C W0 2 (one_best b outcomes)) r)
    (share (fractions C W0 2 (one_best b' outcomes)) r).
Proof.
  intros Hb Hb' Hr. assert (H0 : (1 <= W0 <= two64)%Z) by (split; discriminate).
  unfold share. rewrite !same_sum by assumption. rewrite !one_best_fractions by assumption.
  assert (N : forall b, nth r (map (fun i => if (i =? b)%nat then 1 else w) (seq 0 outcomes)) 0
    = if (r =? b)%nat then 1 else w).
  { intros c. set (g := fun i => if (i =? c)%nat then 1 else w).
    rewrite (nth_indep _ 0 (g O)) by (rewrite map_length, seq_length; assumption).
    rewrite (map_nth g), seq_nth by assumption. reflexivity. }
  rewrite !N. pose proof (rho_ge_1 C HC) as R1.
  pose proof (fraction_range C W0 HC H0 1) as Wr. fold w in Wr.
  assert (F : 1 <= rho_of C * w).
  { assert (U : up1 0 1) by (unfold up1; lia).
    destruct (fraction_up C W0 HC H0 0 1 U) as [F _]. fold w in F.
    apply (proj1 (div_le_mult (rho_of C) _ _ ltac:(lra))) in F.
    unfold fraction in F at 1; cbn [weight] in F. unfold W0 in F.
    unfold Rdiv in F at 1. rewrite Rinv_r in F; [exact F|].
    apply not_0_IZR; discriminate. }
  assert (S : 0 < / (1 + INR (outcomes - 1) * w)).
  { apply Rinv_0_lt_compat. pose proof (pos_INR (outcomes - 1)). nra. }
  unfold near, Rdiv. rewrite <- !Rmult_assoc.
  split; (apply Rmult_le_compat_r; [lra|]); destruct (r =? b)%nat, (r =? b')%nat; nra.
Qed.
End Law.

(** For every eps from 0.000001 to 1000, one step of the ratio for 2 eps costs no more than e^eps, draws included. *)
Theorem per_unit_pays micro : (1 <= micro <= max_micro)%Z ->
  (1 + spare) * rho_of (per_unit_1 micro) <= exp (eps micro).
Proof.
  intros Hu. unfold per_unit_1. set (u := Z.min (2 * micro) max_micro).
  assert (Hu' : (0 <= u <= 2 * micro /\ u < 2 ^ 30)%Z).
  { assert (max_micro < 2 ^ 30)%Z by reflexivity. unfold u; lia. }
  pose proof (constant_range u) as HC. pose proof (constant_above u ltac:(lia)) as A.
  set (C := from_micro u) in *; clearbody C.
  assert (Ex : forall x y, x <= y -> exp x <= exp y).
  { intros x y [H| ->]; [left; apply exp_increasing; assumption | right; reflexivity]. }
  assert (M1 : 1 <= IZR micro) by (apply IZR_le; lia).
  pose proof (rho_ge_1 C HC) as R1. pose proof spare_pos.
  destruct (Z.eq_dec C (two64 - 1)) as [->|n].
  - apply Rle_trans with (exp (1 / 1000000 / 2)); [|apply Ex; unfold eps; lra].
    apply Rle_trans with (2 := largest_pays). apply Rmult_le_compat_l; nra.
  - specialize (A ltac:(lia)). assert (U0 : 0 <= IZR u <= 2 * IZR micro).
    { rewrite <- mult_IZR. split; apply IZR_le; lia. }
    apply Rle_trans with (exp (IZR u / 1000000 / 2)); [apply four_pays; [lra | lia | exact A]|].
    apply Ex; unfold eps; lra.
Qed.

Lemma per_unit_range micro : (0 < per_unit_1 micro < two64)%Z.
Proof. unfold per_unit_1. apply constant_range. Qed.

(** For every eps from 0.000001 to 1000, up to 65 536 outcomes ("nothing known" is one), and any two texts: e^eps. *)
Theorem whole_text_private micro outcomes b b' r : (1 <= micro <= max_micro)%Z -> (Z.of_nat outcomes <= few)%Z ->
  (b < outcomes)%nat -> (b' < outcomes)%nat -> (r < outcomes)%nat ->
  near (exp (eps micro)) (whole_text micro b outcomes r) (whole_text micro b' outcomes r).
Proof.
  intros Hu Hm Hb Hb' Hr. unfold whole_text. pose proof (per_unit_pays micro Hu) as K.
  pose proof (per_unit_range micro) as HC.
  set (C := per_unit_1 micro) in *; clearbody C.
  assert (L : forall c, length (one_best c outcomes) = outcomes)
    by (intros; unfold one_best; rewrite map_length; apply seq_length).
  destruct (ideal_within Exponential C 2 (one_best b outcomes) r HC ltac:(lia)) as [B P]; try (rewrite L; assumption).
  destruct (ideal_within Exponential C 2 (one_best b' outcomes) r HC ltac:(lia)) as [B' P'];
    try (rewrite L; assumption).
  cbn [ideal first_weight] in *. pose proof (rho_ge_1 C HC) as R1. pose proof low_pos as Lp.
  destruct (near_bits (rho_of C) _ _ _ _ ltac:(lra) P P' (whole_text_step C outcomes HC b b' r Hb Hb' Hr) B B')
    as [X Y].
  split; [apply Rle_trans with (1 := X) | apply Rle_trans with (1 := Y)];
    (apply Rmult_le_compat_r; [nra | exact K]).
Qed.
