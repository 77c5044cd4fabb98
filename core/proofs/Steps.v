(** * From one step of a level to a whole neighbour

    Levels are whole numbers, 0 is best. This file proves, for permute-and-flip and for the exponential mechanism
    alike, how far apart two neighbouring lists of levels can be: one step, steps up and down mixed, Q steps at
    once, with levels cut at the bound and taken relative to the best. The mechanisms are those of real numbers here;
    [Select.v] joins them to what the code draws. *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import List Arith.
Require Import Undertone.Integral Undertone.Coins Undertone.Weights.
Import ListNotations.
Local Open Scope R_scope.

Lemma near_sym k u v : near k u v -> near k v u.
Proof. intros [A B]; split; assumption. Qed.

Lemma near_trans k m u v w : 0 <= k -> 0 <= m -> near k u v -> near m v w -> near (k * m) u w.
Proof. intros Hk Hm [A B] [C D]; split; nra. Qed.

Lemma near_refl u : near 1 u u.
Proof. split; lra. Qed.

Lemma Forall2_at {A B} (P : A -> B -> Prop) l m da db : Forall2 P l m ->
  forall r, (r < length l)%nat -> P (nth r l da) (nth r m db).
Proof.
  induction 1; intros r Hr; simpl in *; [lia|]. destruct r; [assumption|]. apply IHForall2; lia.
Qed.

Lemma Forall2_skipn {A B} (P : A -> B -> Prop) l m : Forall2 P l m -> forall r, Forall2 P (skipn r l) (skipn r m).
Proof. induction 1; intros [|r]; simpl; auto. Qed.

Lemma Forall2_firstn {A B} (P : A -> B -> Prop) l m : Forall2 P l m ->
  forall r, Forall2 P (firstn r l) (firstn r m).
Proof. induction 1; intros [|r]; simpl; auto. Qed.

Lemma Forall2_len {A B} (P : A -> B -> Prop) l m : Forall2 P l m -> length l = length m.
Proof. induction 1; simpl; congruence. Qed.

Lemma Forall_at {A} (P : A -> Prop) l d r : Forall P l -> (r < length l)%nat -> P (nth r l d).
Proof. intros H Hr; apply (proj1 (Forall_forall P l) H), nth_In, Hr. Qed.

Lemma Forall2_map {A B} (P : A -> A -> Prop) (Q : B -> B -> Prop) (f g : A -> B) l m :
  (forall x y, In x l -> In y m -> P x y -> Q (f x) (g y)) -> Forall2 P l m -> Forall2 Q (map f l) (map g m).
Proof.
  intros H F; induction F; simpl; constructor.
  - apply H; simpl; auto.
  - apply IHF; intros; apply H; simpl; auto.
Qed.

(** ** Mechanisms for which all weights falling costs one rho *)

(** Weights as fractions of the first. *)
Definition positive (p : list R) := Forall (fun x => 0 < x <= 1) p.

Definition steady (rho : R) (M : list R -> nat -> R) :=
  forall p p' r, positive p -> positive p' -> Forall2 (falls rho) p p' -> (r < length p)%nat ->
    near rho (M p r) (M p' r).

Lemma positive_unit p : positive p -> unit_list p.
Proof. apply Forall_impl; intros; lra. Qed.

(** Permute-and-flip is one. *)
Theorem flip_steady rho : 1 <= rho -> steady rho head_law.
Proof.
  intros Hr p p' r U U' S L. pose proof (Forall2_len _ _ _ S) as Len.
  rewrite !head_law_flip by lia. pose proof (Forall_at _ p 0 r U L) as Hn; cbv beta in Hn.
  assert (O : forall q, positive q -> unit_list (others q r)).
  { intros q V. apply positive_unit. apply Forall_app; split.
    - rewrite <- (firstn_skipn r q) in V. apply Forall_app in V; tauto.
    - rewrite <- (firstn_skipn (Datatypes.S r) q) in V. apply Forall_app in V; tauto. }
  apply flip_step; auto; [lra | apply (Forall2_at _ _ _ 0 0 S r L) |].
  apply Forall2_app; [apply Forall2_firstn | apply Forall2_skipn]; assumption.
Qed.

(** The exponential mechanism: a weight over their sum. *)
Definition sum (p : list R) := fold_right Rplus 0 p.
Definition share (p : list R) (r : nat) := nth r p 0 / sum p.

Lemma sum_falls rho p p' : 1 <= rho -> Forall2 (falls rho) p p' -> sum p / rho <= sum p' <= sum p.
Proof.
  intros Hr H; induction H as [|x x' p p' Hx H IH]; unfold sum in *; simpl.
  - unfold Rdiv; rewrite Rmult_0_l; lra.
  - unfold falls in Hx. unfold Rdiv in *. rewrite Rmult_plus_distr_r. lra.
Qed.

Lemma sum_pos p r : positive p -> (r < length p)%nat -> 0 < sum p.
Proof.
  intros H; revert r; induction H as [|x p Hx H IH]; intros r Hr; simpl in *; [lia|].
  destruct p as [|y p]; [simpl; lra|].
  specialize (IH O ltac:(simpl; lia)). unfold sum in *; simpl in *; lra.
Qed.

(** It is one, too: numerator and sum both shrink by at most rho. *)
Theorem share_steady rho : 1 <= rho -> steady rho share.
Proof.
  intros Hr p p' r U U' S L. pose proof (Forall2_len _ _ _ S) as Len.
  pose proof (sum_pos p r U L) as P. pose proof (sum_pos p' r U' ltac:(lia)) as P'.
  destruct (sum_falls rho p p' Hr S) as [A B].
  apply (proj1 (div_le_mult rho _ _ ltac:(lra))) in A.
  destruct (Forall2_at _ _ _ 0 0 S r L) as [X Y].
  apply (proj1 (div_le_mult rho _ _ ltac:(lra))) in X.
  pose proof (Forall_at _ p 0 r U L) as Hn; cbv beta in Hn.
  pose proof (Forall_at _ p' 0 r U' ltac:(lia)) as Hn'; cbv beta in Hn'.
  unfold share; set (w := nth r p 0) in *; set (w' := nth r p' 0) in *.
  set (s := sum p) in *; set (s' := sum p') in *.
  assert (Q : forall a b c d, 0 < b -> 0 < d -> a * d <= c * b -> a / b <= c / d).
  { intros a b c d Hb Hd H. apply Rmult_le_reg_r with (b * d); [nra|].
    replace (a / b * (b * d)) with (a * d) by (field; lra).
    replace (c / d * (b * d)) with (c * b) by (field; lra). exact H. }
  split; unfold Rdiv; rewrite <- Rmult_assoc; apply Q; try assumption; nra.
Qed.

(** Weights that rise and fall: through the larger of old and new, two steps. *)
Definition moves (rho x y : R) := x / rho <= y /\ y / rho <= x.

Fixpoint larger (p q : list R) : list R :=
  match p, q with x :: l, y :: m => Rmax x y :: larger l m | _, _ => nil end.

Lemma larger_falls rho p q : 1 <= rho -> positive p -> positive q -> Forall2 (moves rho) p q ->
  positive (larger p q) /\ Forall2 (falls rho) (larger p q) p /\ Forall2 (falls rho) (larger p q) q.
Proof.
  intros Hr U V F; induction F as [|x y p q [A B] F IH]; simpl; [repeat constructor|].
  inversion U; inversion V; subst. destruct IH as (P & Q & S); [assumption | assumption |].
  pose proof (div_unit rho x Hr ltac:(lra)). pose proof (div_unit rho y Hr ltac:(lra)).
  unfold falls, Rmax in *; destruct (Rle_dec x y); repeat split; constructor; try assumption; lra.
Qed.

Theorem steady_mixed rho M p q r : 1 <= rho -> steady rho M -> positive p -> positive q ->
  Forall2 (moves rho) p q -> (r < length p)%nat -> near (rho * rho) (M p r) (M q r).
Proof.
  intros Hr S U V F L. destruct (larger_falls rho p q Hr U V F) as (P & A & B).
  pose proof (Forall2_len _ _ _ A) as Len.
  apply near_trans with (M (larger p q) r); [lra | lra | apply near_sym |]; apply S; try assumption; lia.
Qed.

(** ** Levels *)

Fixpoint least (l : list nat) : nat :=
  match l with nil => O | [x] => x | x :: m => Nat.min x (least m) end.

(** A level stays or rises by one. *)
Definition up1 (x y : nat) := (x <= y <= S x)%nat.

Lemma least_le l x : In x l -> (least l <= x)%nat.
Proof.
  induction l as [|y l IH]; intros H; [destruct H|].
  destruct l as [|z l]; [destruct H as [->|[]]; simpl; lia|].
  change (least (y :: z :: l)) with (Nat.min y (least (z :: l))).
  destruct H as [->|H]; [lia | specialize (IH H); lia].
Qed.

Lemma least_in l : l <> nil -> In (least l) l.
Proof.
  induction l as [|y l IH]; intros H; [congruence|].
  destruct l as [|z l]; [left; reflexivity|].
  change (least (y :: z :: l)) with (Nat.min y (least (z :: l))).
  destruct (Nat.min_spec y (least (z :: l))) as [[_ ->]|[_ ->]]; [left; reflexivity|].
  right; apply IH; discriminate.
Qed.

Lemma least_up l l' : Forall2 up1 l l' -> up1 (least l) (least l').
Proof.
  induction 1 as [|x y l l' H F IH]; [unfold up1; simpl; lia|].
  inversion F; subst; [exact H|].
  match goal with |- up1 (least (_ :: ?a)) (least (_ :: ?b)) =>
    change (up1 (Nat.min x (least a)) (Nat.min y (least b))) end.
  unfold up1 in *; lia.
Qed.

Section Levels.
Variables (C W0 : Z) (bound : nat).
Hypothesis HC : (0 < C < two64)%Z.
Hypothesis H0 : (1 <= W0 <= two64)%Z.
Let rho := rho_of C.

(** A level at or above the bound counts as the worst one. Absolute levels are cut, before the best is subtracted. *)
Definition cut (x : nat) : nat := Nat.min x (bound - 1).

(** What the weights say for a list of levels, relative to the best of them. *)
Definition fraction (i : nat) : R := IZR (weight C W0 i) / IZR W0.
Definition relative (l : list nat) : list R := map (fun x => fraction (x - least l)) l.
Definition fractions (l : list nat) : list R := relative (map cut l).

Lemma rho_1 : 1 <= rho.
Proof. apply rho_ge_1; assumption. Qed.

Lemma cut_up x y : up1 x y -> up1 (cut x) (cut y).
Proof. unfold up1, cut; lia. Qed.

Lemma fraction_up x y : up1 x y -> falls rho (fraction x) (fraction y).
Proof.
  intros H. assert (P : 0 < IZR W0) by (apply IZR_lt; lia). pose proof rho_1 as Hr.
  assert (Q : 0 < IZR (weight C W0 x)) by (apply IZR_lt; pose proof (weight_bounds C W0 HC H0 x); lia).
  assert (E : y = x \/ y = S x) by (unfold up1 in H; lia).
  assert (falls rho (IZR (weight C W0 x)) (IZR (weight C W0 y))) as [A B].
  { destruct E as [-> | ->]; [|apply weight_falls; assumption].
    pose proof (div_unit rho (IZR (weight C W0 x)) Hr ltac:(lra)); split; lra. }
  pose proof (Rinv_0_lt_compat _ P). unfold fraction, falls, Rdiv in *.
  split; [|nra]. replace (IZR (weight C W0 x) * / IZR W0 * / rho)
    with (IZR (weight C W0 x) * / rho * / IZR W0) by ring. nra.
Qed.

Lemma fraction_range i : 0 < fraction i <= 1.
Proof.
  assert (P : 0 < IZR W0) by (apply IZR_lt; lia).
  destruct (weight_bounds C W0 HC H0 i) as [L1 L2]; apply IZR_le in L1, L2.
  unfold fraction; split.
  - apply Rdiv_lt_0_compat; lra.
  - apply Rmult_le_reg_r with (IZR W0); [assumption|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma fractions_positive l : positive (fractions l).
Proof. apply Forall_map, Forall_forall; intros; apply fraction_range. Qed.

Lemma fractions_len l : length (fractions l) = length l.
Proof. unfold fractions, relative; rewrite !map_length; reflexivity. Qed.

(** All levels stay or rise by one: so do all relative levels, or all of them stay or fall by one. *)
Lemma relative_up l l' : Forall2 up1 l l' ->
  Forall2 (falls rho) (relative l) (relative l') \/ Forall2 (falls rho) (relative l') (relative l).
Proof.
  intros F; pose proof (least_up _ _ F) as [A B].
  destruct (Nat.eq_dec (least l') (least l)) as [e|n]; [left|right]; unfold relative.
  - apply (Forall2_map up1); [|assumption]. intros x y Hx Hy [P Q].
    apply fraction_up. pose proof (least_le l x Hx). unfold up1; lia.
  - apply (Forall2_map (fun x y => up1 y x)).
    + intros y x Hy Hx [P Q]. apply fraction_up.
      pose proof (least_le l x Hx). pose proof (least_le l' y Hy). unfold up1; lia.
    + apply (Forall2_swap up1); auto.
Qed.

Variable M : list R -> nat -> R.
Hypothesis SM : steady rho M.

(** One step, all candidates the same way: one rho. *)
Theorem one_step l l' r : Forall2 up1 l l' -> (r < length l)%nat ->
  near rho (M (fractions l) r) (M (fractions l') r).
Proof.
  intros F L. pose proof (Forall2_len _ _ _ F) as Len.
  assert (Lp : forall m, length (fractions m) = length m) by apply fractions_len.
  assert (G : Forall2 up1 (map cut l) (map cut l')) by (apply (Forall2_map up1); auto using cut_up).
  destruct (relative_up _ _ G) as [S|S]; fold (fractions l) (fractions l') in S.
  - apply SM; try apply fractions_positive; [assumption | rewrite Lp; assumption].
  - apply near_sym, SM; try apply fractions_positive; [assumption | rewrite Lp; lia].
Qed.

(** Any number of steps, one after the other, each of which moves all levels one way: one rho for each. *)
Inductive chain : nat -> list nat -> list nat -> Prop :=
  | chain_nil l : chain 0 l l
  | chain_up k l l' l'' : Forall2 up1 l l' -> chain k l' l'' -> chain (S k) l l''
  | chain_down k l l' l'' : Forall2 up1 l' l -> chain k l' l'' -> chain (S k) l l''.

Theorem chain_near k l l' r : chain k l l' -> (r < length l)%nat ->
  near (rho ^ k) (M (fractions l) r) (M (fractions l') r).
Proof.
  pose proof rho_1 as Hr. assert (Hp : forall k, 0 <= rho ^ k) by (intros; apply pow_le; lra).
  intros H L; induction H as [|k l l' l'' F H IH|k l l' l'' F H IH]; [apply near_refl| |];
    pose proof (Forall2_len _ _ _ F) as Len; simpl pow; specialize (IH ltac:(lia));
    (eapply near_trans; [lra | apply Hp | | exact IH]).
  - apply one_step; assumption.
  - apply near_sym, one_step; [assumption | lia].
Qed.
End Levels.

(** ** Chains of steps *)

Lemma chain_len k l l' : chain k l l' -> length l = length l'.
Proof. induction 1 as [|k l l' l'' F H IH|k l l' l'' F H IH]; [reflexivity| |]; apply Forall2_len in F; lia. Qed.

Lemma chain_app k k' l l' l'' : chain k l l' -> chain k' l' l'' -> chain (k + k') l l''.
Proof.
  intros H; induction H as [|k l m m' F H IH|k l m m' F H IH]; intros H'; simpl; [assumption| |].
  - apply chain_up with m; auto.
  - apply chain_down with m; auto.
Qed.

Lemma chain_sym k l l' : chain k l l' -> chain k l' l.
Proof.
  induction 1 as [|k l m m' F H IH|k l m m' F H IH]; [constructor| |];
    replace (S k) with (k + 1)%nat by lia; apply chain_app with m; auto.
  - apply chain_down with l; [assumption | constructor].
  - apply chain_up with l; [assumption | constructor].
Qed.

(** All levels rise by 0 to Q: Q steps. *)
Fixpoint towards (l l' : list nat) : list nat :=
  match l, l' with x :: m, y :: m' => Nat.min y (S x) :: towards m m' | _, _ => nil end.

Theorem chain_one_way Q : forall l l', Forall2 (fun x y => x <= y <= x + Q)%nat l l' -> chain Q l l'.
Proof.
  induction Q as [|Q IH]; intros l l' F.
  - assert (l = l') as ->; [|constructor].
    induction F; [reflexivity|]. f_equal; [lia | assumption].
  - apply chain_up with (towards l l'); [|apply IH]; induction F; simpl; constructor;
      unfold up1; lia || assumption.
Qed.

(** Levels move by up to Q, some up and some down: through the larger of old and new level, 2 Q steps. *)
Fixpoint larger_level (l l' : list nat) : list nat :=
  match l, l' with x :: m, y :: m' => Nat.max x y :: larger_level m m' | _, _ => nil end.

Theorem chain_mixed Q l l' : Forall2 (fun x y => x <= y + Q /\ y <= x + Q)%nat l l' -> chain (2 * Q) l l'.
Proof.
  intros F. replace (2 * Q)%nat with (Q + Q)%nat by lia.
  apply chain_app with (larger_level l l'); [|apply chain_sym]; apply chain_one_way;
    induction F; simpl; constructor; lia || assumption.
Qed.

(** ** The largest constant: any two lists of levels whatever are two steps apart *)

Theorem flat_near W0 bound M l l' r : W0 = two64 \/ W0 = (2 ^ 48)%Z -> steady (rho_of (two64 - 1)) M ->
  length l = length l' -> (r < length l)%nat ->
  near (rho_of (two64 - 1) * rho_of (two64 - 1))
    (M (fractions (two64 - 1) W0 bound l) r) (M (fractions (two64 - 1) W0 bound l') r).
Proof.
  intros H0 SM Len L. set (C := (two64 - 1)%Z).
  assert (HC : (0 < C < two64)%Z) by (split; reflexivity).
  assert (H1 : (1 <= W0 <= two64)%Z) by (destruct H0 as [-> | ->]; split; discriminate).
  pose proof (rho_ge_1 C HC) as Hr.
  assert (A : forall i, / rho_of C <= fraction C W0 i).
  { intros i. pose proof (flat_table W0 i H0) as T. apply IZR_le in T. rewrite !mult_IZR in T. fold C in T.
    assert (P : 0 < IZR W0) by (apply IZR_lt; lia). assert (Q : 0 < IZR C) by (apply IZR_lt; lia).
    assert (T64 : 0 < IZR two64) by (apply IZR_lt; reflexivity).
    unfold rho_of, fraction. apply Rmult_le_reg_r with (IZR W0 * IZR two64); [nra|].
    replace (/ (IZR two64 / IZR C) * (IZR W0 * IZR two64)) with (IZR W0 * IZR C) by (field; lra).
    replace (IZR (weight C W0 i) / IZR W0 * (IZR W0 * IZR two64))
      with (IZR two64 * IZR (weight C W0 i)) by (field; lra). exact T. }
  assert (B : forall i, fraction C W0 i / rho_of C <= / rho_of C).
  { intros i. pose proof (fraction_range C W0 HC H1 i). pose proof (Rinv_0_lt_compat (rho_of C) ltac:(lra)).
    unfold Rdiv. nra. }
  apply steady_mixed; [assumption | assumption | apply fractions_positive | apply fractions_positive | |];
    try assumption; [|rewrite fractions_len; assumption].
  unfold fractions, relative. set (f := fun x => _).
  set (f' := fun x => fraction C W0 (x - least (map (cut bound) l'))).
  assert (X : forall a b : list nat, length a = length b -> Forall2 (moves (rho_of C)) (map f a) (map f' b)).
  { induction a as [|x a IH]; intros [|y b] E; simpl in E; try discriminate; simpl; constructor; auto.
    unfold f, f', moves. split; (eapply Rle_trans; [apply B | apply A]). }
  apply X. rewrite !map_length. assumption.
Qed.
