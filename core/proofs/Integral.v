(** * The product integral of permute-and-flip, and one step of it

    Permute-and-flip returns a candidate of coin [a] among others of coins [q] with probability
    [a * integral q], where the integral runs over the candidate's arrival time in a random order.
    This file proves what one step of the coins does to it. [Coins.v] proves that the coins of the code
    have this law. *)
Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
Require Import List. (* after Coquelicot, which has another Forall *)
Import ListNotations.
Local Open Scope R_scope.

(** The probability that none of the coins [q] was reached and showed heads before time [t]. *)
Fixpoint miss (q : list R) (t : R) : R :=
  match q with
  | nil => 1
  | x :: l => (1 - t * x) * miss l t
  end.

Definition integral (q : list R) : R := RInt (miss q) 0 1.
Definition flip (a : R) (q : list R) : R := a * integral q.

Definition unit_list (q : list R) := Forall (fun x => 0 <= x <= 1) q.

(** ** Integrals of products *)

(** Coquelicot's lemmas for plain real numbers: [ring] and [lra] do not see through its structures. *)
Lemma RInt_extR (f g : R -> R) a b : (forall x : R, f x = g x) -> RInt f a b = RInt g a b.
Proof. intros H; apply RInt_ext; intros; apply H. Qed.
Lemma RInt_scalR (f : R -> R) a b k : ex_RInt f a b -> RInt (fun t => k * f t) a b = k * RInt f a b.
Proof. exact (RInt_scal (V := R_CompleteNormedModule) f a b k). Qed.
Lemma RInt_plusR (f g : R -> R) a b : ex_RInt f a b -> ex_RInt g a b ->
  RInt (fun t => f t + g t) a b = RInt f a b + RInt g a b.
Proof. exact (RInt_plus (V := R_CompleteNormedModule) f g a b). Qed.
Lemma ex_RInt_scalR (f : R -> R) a b k : ex_RInt f a b -> ex_RInt (fun t => k * f t) a b.
Proof. exact (ex_RInt_scal (V := R_CompleteNormedModule) f a b k). Qed.
Lemma ex_RInt_contR (f : R -> R) a b : (forall t, continuous f t) -> ex_RInt f a b.
Proof. intros H; apply (ex_RInt_continuous (V := R_CompleteNormedModule)); intros; apply H. Qed.

Lemma miss_cont q t : continuous (miss q) t.
Proof.
  induction q as [|x q IH]; simpl.
  - apply continuous_const.
  - apply (continuous_mult (fun t => 1 - t * x) (miss q)); [|exact IH].
    apply (ex_derive_continuous (fun t : R => 1 - t * x)); auto_derive; exact Logic.I.
Qed.

Lemma miss_int q a b : ex_RInt (miss q) a b.
Proof. apply ex_RInt_contR; intros; apply miss_cont. Qed.

Lemma fac_bounds t x : 0 <= t <= 1 -> 0 <= x <= 1 -> 0 <= 1 - t * x <= 1.
Proof. intros; nra. Qed.

Lemma miss_bounds q t : unit_list q -> 0 <= t <= 1 -> 0 <= miss q t <= 1.
Proof.
  intros H Ht; induction H as [|x q Hx H IH]; simpl; [lra|].
  pose proof (fac_bounds t x Ht Hx). nra.
Qed.

Lemma integral_nonneg q : unit_list q -> 0 <= integral q.
Proof.
  intros H; apply RInt_ge_0; [lra | apply miss_int |].
  intros; apply miss_bounds; [assumption | lra].
Qed.

(** ** Smaller coins of the others: the integral grows *)

Lemma miss_mono q' q t :
  Forall2 (fun x' x => 0 <= x' <= x) q' q -> unit_list q -> 0 <= t <= 1 -> miss q t <= miss q' t.
Proof.
  intros H U Ht; induction H as [|x' x q' q Hx H IH]; simpl; [lra|].
  inversion U; subst.
  pose proof (miss_bounds q t ltac:(assumption) Ht).
  specialize (IH ltac:(assumption)).
  apply Rmult_le_compat; nra.
Qed.

Lemma integral_mono q' q :
  Forall2 (fun x' x => 0 <= x' <= x) q' q -> unit_list q -> integral q <= integral q'.
Proof.
  intros H U; apply RInt_le; [lra | apply miss_int | apply miss_int |].
  intros t Ht; apply miss_mono; [assumption | assumption | lra].
Qed.

(** ** Coins smaller by at most a factor rho: the integral grows by at most rho

    The substitution of select.rs, tau = t / rho, and the integral of a part is at most that of the whole. *)

Lemma miss_scale rho q' q t :
  1 <= rho -> Forall2 (fun x' x => x / rho <= x') q' q -> unit_list q' -> unit_list q -> 0 <= t <= 1 ->
  miss q' t <= miss q (/ rho * t + 0).
Proof.
  intros Hr H U' U Ht; induction H as [|x' x q' q Hx H IH]; simpl; [lra|].
  inversion U; inversion U'; subst.
  pose proof (miss_bounds q' t ltac:(assumption) Ht).
  specialize (IH ltac:(assumption) ltac:(assumption)).
  pose proof (fac_bounds t x' Ht ltac:(assumption)).
  apply Rmult_le_compat; [lra | lra | | assumption].
  replace ((/ rho * t + 0) * x) with (t * (x / rho)) by (unfold Rdiv; ring).
  nra.
Qed.

Lemma inv_rho_bounds rho : 1 <= rho -> 0 < / rho <= 1.
Proof.
  intros H; split; [apply Rinv_0_lt_compat; lra|].
  rewrite <- Rinv_1; apply Rinv_le_contravar; lra.
Qed.

Lemma miss_line_int rho q a b : ex_RInt (fun t => miss q (/ rho * t + 0)) a b.
Proof.
  apply ex_RInt_contR; intros z.
  apply (continuous_comp (fun t => / rho * t + 0) (miss q)); [|apply miss_cont].
  apply (ex_derive_continuous (fun t : R => / rho * t + 0)); auto_derive; exact Logic.I.
Qed.

Lemma integral_subst rho q : 1 <= rho ->
  RInt (fun t => miss q (/ rho * t + 0)) 0 1 = rho * RInt (miss q) 0 (/ rho).
Proof.
  intros Hr.
  pose proof (RInt_comp_lin (V := R_CompleteNormedModule) (miss q) (/ rho) 0 0 1 (miss_int _ _ _)) as E.
  rewrite (RInt_scal (V := R_CompleteNormedModule) (fun t => miss q (/ rho * t + 0))) in E
    by apply miss_line_int.
  unfold scal in E; simpl in E; unfold mult in E; simpl in E.
  replace (/ rho * 0 + 0) with 0 in E by ring.
  replace (/ rho * 1 + 0) with (/ rho) in E by ring.
  rewrite <- E, <- Rmult_assoc, Rinv_r, Rmult_1_l; [reflexivity | lra].
Qed.

Lemma integral_prefix rho q : 1 <= rho -> unit_list q -> RInt (miss q) 0 (/ rho) <= integral q.
Proof.
  intros Hr U; unfold integral. pose proof (inv_rho_bounds rho Hr) as B.
  rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) (miss q) 0 (/ rho) 1) by apply miss_int.
  unfold plus; simpl.
  assert (0 <= RInt (miss q) (/ rho) 1); [|lra].
  apply RInt_ge_0; [lra | apply miss_int |].
  intros; apply miss_bounds; [assumption | lra].
Qed.

Lemma integral_scale rho q' q :
  1 <= rho -> Forall2 (fun x' x => x / rho <= x') q' q -> unit_list q' -> unit_list q ->
  integral q' <= rho * integral q.
Proof.
  intros Hr H U' U.
  apply Rle_trans with (RInt (fun t => miss q (/ rho * t + 0)) 0 1).
  - apply RInt_le; [lra | apply miss_int | apply miss_line_int |].
    intros; apply miss_scale; try assumption; lra.
  - rewrite integral_subst by assumption.
    apply Rmult_le_compat_l; [lra | apply integral_prefix; assumption].
Qed.

(** ** The one-sided step *)

(** A coin falls, by at most a factor rho. *)
Definition falls (rho x x' : R) := x / rho <= x' <= x.

(** The first of two numbers is at most k times the other, and the other way round. *)
Definition near (k u v : R) := u <= k * v /\ v <= k * u.

Lemma div_unit rho x : 1 <= rho -> 0 <= x -> 0 <= x / rho <= x.
Proof. intros Hr Hx; pose proof (inv_rho_bounds rho Hr); unfold Rdiv; nra. Qed.

Lemma div_le_mult rho x y : 0 < rho -> (x / rho <= y <-> x <= rho * y).
Proof.
  intros Hr; split; intros H.
  - apply Rmult_le_reg_r with (/ rho); [apply Rinv_0_lt_compat; assumption|].
    replace (rho * y * / rho) with y by (field; lra). exact H.
  - apply Rmult_le_reg_r with rho; [assumption|].
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma Forall2_swap {A B} (P : A -> B -> Prop) (Q : B -> A -> Prop) l m :
  (forall x y, In x l -> P x y -> Q y x) -> Forall2 P l m -> Forall2 Q m l.
Proof.
  intros HPQ H; induction H; constructor.
  - apply HPQ; [left; reflexivity | assumption].
  - apply IHForall2; intros; apply HPQ; [right|]; assumption.
Qed.

(** If all coins fall by at most a factor rho, a candidate's probability changes by at most a factor rho. *)
Theorem flip_step rho a a' q q' :
  1 <= rho -> 0 <= a <= 1 -> unit_list q -> unit_list q' ->
  falls rho a a' -> Forall2 (falls rho) q q' -> near rho (flip a q) (flip a' q').
Proof.
  intros Hr Ha U U' Sa Sq.
  pose proof (integral_nonneg _ U) as N. pose proof (integral_nonneg _ U') as N'.
  assert (L1 : integral q <= integral q').
  { apply integral_mono; [|assumption].
    apply (Forall2_swap (falls rho)); [|assumption].
    unfold falls; intros x y Hin Hs.
    pose proof (proj1 (Forall_forall _ _) U x Hin) as Hx; cbv beta in Hx.
    pose proof (div_unit rho x Hr ltac:(lra)); lra. }
  assert (L2 : integral q' <= rho * integral q).
  { apply integral_scale; try assumption.
    apply (Forall2_swap (falls rho)); [|assumption].
    unfold falls; intros; lra. }
  unfold flip, near, falls in *. destruct Sa as [S1 S2].
  pose proof (div_unit rho a Hr ltac:(lra)).
  pose proof (proj1 (div_le_mult rho a a' ltac:(lra)) S1). split.
  - rewrite <- Rmult_assoc. apply Rmult_le_compat; lra.
  - rewrite <- Rmult_assoc, (Rmult_comm rho), Rmult_assoc. apply Rmult_le_compat; lra.
Qed.
