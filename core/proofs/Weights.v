(** * The table of weights

    Integers only, as [Ratio::step] and [Ratio::weights] compute them: [C] is the ratio's constant, [W0] the
    first weight. Privacy needs one inequality of the table, [weight_falls], and not that the weights are
    close to powers of e^(-eps/2). *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import Undertone.Integral.
Local Open Scope Z_scope.

Definition two64 : Z := 2 ^ 64.
Lemma two64_pos : 0 < two64. Proof. reflexivity. Qed.

(** Division rounded up, written with the division of the machine, which rounds down. *)
Definition up (n d : Z) : Z := (n + (d - 1)) / d.

Lemma up_spec n d k : 0 < d -> (up n d <= k <-> n <= k * d).
Proof.
  intros Hd; unfold up.
  pose proof (Z.div_mod (n + (d - 1)) d ltac:(lia)).
  pose proof (Z.mod_pos_bound (n + (d - 1)) d Hd). split; nia.
Qed.

(** The weight one level below [w]. *)
Definition step (C w : Z) : Z := Z.max 1 (up (Z.min w two64 * C) two64).

(** The weight of relative level [i]. *)
Fixpoint weight (C W0 : Z) (i : nat) : Z :=
  match i with O => W0 | S j => step C (weight C W0 j) end.

Section Table.
Variables C W0 : Z.
Hypothesis HC : 0 < C < two64.
Hypothesis H0 : 1 <= W0 <= two64.

(** One step neither grows nor falls below 1, and what is lost is at most the factor C / 2^64. *)
Lemma step_spec w : 1 <= w <= two64 -> 1 <= step C w <= w /\ w * C <= two64 * step C w.
Proof.
  intros Hw; pose proof two64_pos. unfold step; rewrite Z.min_l by lia. repeat split.
  - lia.
  - apply Z.max_lub; [lia|]. apply up_spec; [assumption|nia].
  - rewrite (Z.mul_comm two64). apply Z.le_trans with (up (w * C) two64 * two64).
    + apply up_spec; lia.
    + apply Z.mul_le_mono_nonneg_r; lia.
Qed.

Lemma weight_bounds i : 1 <= weight C W0 i <= W0.
Proof.
  induction i as [|i IH]; cbn [weight]; [lia|].
  pose proof (step_spec (weight C W0 i) ltac:(lia)). lia.
Qed.

Local Open Scope R_scope.

(** rho of the pages: what a step costs. *)
Definition rho_of (C : Z) : R := IZR two64 / IZR C.

Lemma rho_ge_1 : 1 <= rho_of C.
Proof.
  destruct HC as [H1 H2]; unfold rho_of. apply IZR_lt in H1, H2.
  apply Rmult_le_reg_r with (IZR C); [assumption|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** W_i / rho <= W_(i+1) <= W_i: the inequality of select.rs. *)
Theorem weight_falls i : falls (rho_of C) (IZR (weight C W0 i)) (IZR (weight C W0 (S i))).
Proof.
  pose proof (weight_bounds i) as Bd. cbn [weight].
  destruct (step_spec (weight C W0 i) ltac:(lia)) as [[_ A] B].
  split; [|apply IZR_le; assumption].
  apply IZR_le in B; rewrite !mult_IZR in B.
  assert (0 < IZR C) by (apply IZR_lt; lia).
  assert (0 < IZR two64) by (apply IZR_lt; lia).
  unfold rho_of. apply Rmult_le_reg_r with (IZR two64); [assumption|].
  replace (IZR (weight C W0 i) / (IZR two64 / IZR C) * IZR two64)
    with (IZR (weight C W0 i) * IZR C) by (field; lra).
  lra.
Qed.
End Table.

(** ** The largest constant

    With C = 2^64 - 1 the table is flat: every level but the best has the weight W0 less 2^-64 of it, rounded up.
    So no two levels whatever differ by more than one step, and the costs of steps are not added up. *)
Lemma flat_table W0 i : W0 = two64 \/ W0 = 2 ^ 48 ->
  W0 * (two64 - 1) <= two64 * weight (two64 - 1) W0 i.
Proof.
  assert (F : forall W1 j, step (two64 - 1) W0 = W1 -> step (two64 - 1) W1 = W1 ->
    weight (two64 - 1) W0 (S j) = W1).
  { intros W1 j A B; induction j as [|j IH]; [exact A|].
    change (step (two64 - 1) (weight (two64 - 1) W0 (S j)) = W1). rewrite IH; exact B. }
  intros H; destruct i as [|i]; [cbn [weight]; destruct H as [-> | ->]; vm_compute; discriminate|].
  destruct H as [-> | ->].
  - rewrite (F (two64 - 1)) by (vm_compute; reflexivity). vm_compute; discriminate.
  - rewrite (F (2 ^ 48)) by (vm_compute; reflexivity). vm_compute; discriminate.
Qed.
