(** * From sentences to a release

    What one sentence does to the levels of the candidates, by scores and by depth; with [Private.v], the promises of
    core/README.md for a document: e^eps for one sentence replaced, e^(eps/2) for one added or removed. Nothing is
    assumed of the pack: scores and codes are any whole numbers. *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import List Arith.
Require Import Undertone.Integral Undertone.Coins Undertone.Weights Undertone.Constant Undertone.Steps.
Require Import Undertone.Select Undertone.Private.
Import ListNotations.

(** ** Scores (scores.rs) *)

(** The largest of the sums. *)
Definition best (sums : list nat) : nat := fold_right Nat.max 0 sums.

(** [ScoreLevels]: the distance from the best, at most [level_count - 1]. *)
Definition score_levels (level_count : nat) (sums : list nat) : list nat :=
  map (fun u => Nat.min (best sums - u) (level_count - 1)) sums.

Lemma best_ge sums u : In u sums -> u <= best sums.
Proof. induction sums as [|x l IH]; intros H; [destruct H|]. destruct H as [->|H]; simpl; [|apply IH in H]; lia. Qed.

Lemma best_up u u' : Forall2 up1 u u' -> up1 (best u) (best u').
Proof. unfold up1; induction 1; simpl; lia. Qed.

(** If every sum stays or rises by one, all levels move the same way, by at most one: down if the best stays, up if it
    rises. *)
Lemma scores_step L u u' : Forall2 up1 u u' -> chain 1 (score_levels L u) (score_levels L u').
Proof.
  intros F. pose proof (best_up _ _ F) as B. unfold score_levels.
  destruct (Nat.eq_dec (best u') (best u)) as [e|n].
  - eapply chain_down; [|apply chain_nil].
    apply (Forall2_map (fun x y => up1 y x)); [|apply (Forall2_swap up1); auto].
    intros x y Hx Hy P; apply best_ge in Hx, Hy; unfold up1 in *; lia.
  - eapply chain_up; [|apply chain_nil]. apply (Forall2_map up1); [|assumption].
    intros x y Hx Hy P; apply best_ge in Hx, Hy; unfold up1 in *; lia.
Qed.

(** If every sum rises by 0 to Q, that is Q such steps. *)
Lemma scores_steps L Q : forall u u', Forall2 (fun x y => x <= y <= x + Q) u u' ->
  chain Q (score_levels L u) (score_levels L u').
Proof.
  induction Q as [|Q IH]; intros u u' F.
  - assert (u = u') as ->; [|constructor].
    induction F; [reflexivity|]. f_equal; [lia | assumption].
  - apply (chain_app 1) with (score_levels L (towards u u')); [apply scores_step | apply IH];
      induction F; simpl; constructor; unfold up1; lia || assumption.
Qed.

(** A sentence is its scores, one for each of [m] candidates, from 0 to Q. The sums of a document: *)
Fixpoint add (s u : list nat) : list nat :=
  match s, u with x :: s, y :: u => x + y :: add s u | _, _ => nil end.
Definition sums (m : nat) (document : list (list nat)) : list nat := fold_right add (repeat 0 m) document.

Definition sentence (m Q : nat) (s : list nat) := length s = m /\ Forall (fun q => q <= Q) s.

Lemma add_len s : forall u, length s = length u -> length (add s u) = length u.
Proof. induction s as [|x s IH]; intros [|y u] H; simpl in *; try congruence. f_equal; apply IH; congruence. Qed.

Lemma sums_len m Q document : Forall (sentence m Q) document -> length (sums m document) = m.
Proof.
  induction 1 as [|s d [Hs _] H IH]; [apply repeat_length|].
  change (length (add s (sums m d)) = m). rewrite add_len; congruence.
Qed.

(** One sentence more raises every sum by 0 to Q. *)
Lemma one_more m Q A s B : Forall (sentence m Q) (A ++ s :: B) ->
  Forall2 (fun x y => x <= y <= x + Q) (sums m (A ++ B)) (sums m (A ++ s :: B)).
Proof.
  induction A as [|a A IH]; intros H; cbn [app] in *.
  - inversion H as [|? ? [Hs Hq] HB]; subst. cbn [sums fold_right]. fold (sums (length s) B).
    pose proof (sums_len _ _ _ HB) as Len. revert Len; generalize (sums (length s) B). clear - Hq.
    induction Hq as [|q s Hq F IH]; intros [|y u] Len; simpl in *; try discriminate; constructor; auto. lia.
  - inversion H as [|? ? _ HA]; subst. specialize (IH HA). cbn [sums fold_right]. fold (sums m (A ++ B)).
    fold (sums m (A ++ s :: B)). clear - IH. revert a.
    induction IH as [|x y u v Hx F IH]; intros [|q a]; simpl; constructor; auto. lia.
Qed.

Section Scores.
Variables (how : rule) (micro : Z) (Q m L r : nat).
Hypothesis Hmicro : (1 <= micro <= max_micro)%Z.
Hypothesis HQ : 1 <= Q.
Hypothesis HL : 1 <= L.
Hypothesis Hm : (Z.of_nat m <= few)%Z.
Hypothesis Hr : r < m.

(** The probability of candidate [r] for a document. *)
Definition by_scores (document : list (list nat)) : R :=
  selects how (per_step micro (Z.of_nat Q)) L (score_levels L (sums m document)) r.

Lemma by_scores_len d : Forall (sentence m Q) d -> length (score_levels L (sums m d)) = m.
Proof. intros H; unfold score_levels; rewrite map_length; apply (sums_len m Q); assumption. Qed.

(** A sentence added, or removed: e^(eps/2). *)
Theorem scores_added A s B : Forall (sentence m Q) (A ++ s :: B) -> Forall (sentence m Q) (A ++ B) ->
  near (exp (eps micro / 2)) (by_scores (A ++ B)) (by_scores (A ++ s :: B)).
Proof.
  intros H H'. pose proof (by_scores_len _ H') as Len. unfold by_scores.
  replace (eps micro / 2)%R with (INR 1 * (eps micro / 2))%R by (simpl; field).
  apply per_step_private; try assumption; try lia.
  rewrite Nat.mul_1_l. apply scores_steps, one_more; assumption.
Qed.

(** A sentence replaced: e^eps. *)
Theorem scores_replaced A s s' B :
  Forall (sentence m Q) (A ++ s :: B) -> Forall (sentence m Q) (A ++ s' :: B) ->
  near (exp (eps micro)) (by_scores (A ++ s :: B)) (by_scores (A ++ s' :: B)).
Proof.
  intros H H'. pose proof (by_scores_len _ H) as Len. unfold by_scores.
  replace (eps micro) with (INR 2 * (eps micro / 2))%R by (simpl; field).
  apply per_step_private; try assumption; try lia.
  replace (2 * Q) with (Q + Q) by lia.
  apply chain_app with (score_levels L (sums m (A ++ B))); [apply chain_sym|];
    apply scores_steps, one_more; assumption.
Qed.
End Scores.

(** ** Depth (depth.rs) *)

(** A sentence and a candidate have a code on each of [p] directions. *)
Definition codes := nat -> nat.

(** h_j: the sentences whose code on direction j is at least the candidate's. *)
Definition at_least (document : list codes) (candidate : codes) (j : nat) : nat :=
  length (filter (fun s => candidate j <=? s j) document).

(** [DepthLevels]: the least over directions of h_j and k - h_j, from the largest byte on. *)
Definition depth (p : nat) (document : list codes) (candidate : codes) : nat :=
  fold_right (fun j least => Nat.min (Nat.min (at_least document candidate j)
    (length document - at_least document candidate j)) least) 255 (seq 0 p).

Definition depth_levels (p : nat) (candidates document : list codes) : list nat :=
  map (fun f => length document / 2 - depth p document f) candidates.

Lemma at_least_le d f j : at_least d f j <= length d.
Proof. unfold at_least. induction d as [|s d IH]; simpl; [lia|]. destruct (f j <=? s j); simpl; lia. Qed.

Lemma at_least_more A s B f j : at_least (A ++ s :: B) f j = at_least (A ++ B) f j + (if f j <=? s j then 1 else 0).
Proof.
  unfold at_least. rewrite !filter_app, !app_length. cbn [filter].
  destruct (f j <=? s j); simpl; lia.
Qed.

(** One sentence more raises the depth of every candidate by 0 or 1: exactly one of h_j and k - h_j rises. *)
Lemma depth_more p A s B f : up1 (depth p (A ++ B) f) (depth p (A ++ s :: B) f).
Proof.
  unfold depth, up1. assert (L : length (A ++ s :: B) = S (length (A ++ B))) by (rewrite !app_length; simpl; lia).
  rewrite L. induction (seq 0 p) as [|j l IH]; cbn [fold_right]; [lia|].
  pose proof (at_least_le (A ++ B) f j). rewrite at_least_more. destruct (f j <=? s j); lia.
Qed.

Lemma depth_half p d f : 1 <= p -> depth p d f <= length d / 2.
Proof.
  intros Hp. unfold depth. destruct p as [|p]; [lia|]. cbn [seq fold_right].
  pose proof (at_least_le d f 0). apply Nat.div_le_lower_bound; lia.
Qed.

(** So all levels move the same way, by at most one: down from an even number of sentences, up from an odd one. *)
Lemma depth_step p candidates A s B : 1 <= p ->
  chain 1 (depth_levels p candidates (A ++ B)) (depth_levels p candidates (A ++ s :: B)).
Proof.
  intros Hp. set (k := length (A ++ B)).
  assert (L : length (A ++ s :: B) = S k) by (unfold k; rewrite !app_length; simpl; lia).
  assert (H : forall f, up1 (depth p (A ++ B) f) (depth p (A ++ s :: B) f)
    /\ depth p (A ++ B) f <= k / 2 /\ depth p (A ++ s :: B) f <= S k / 2).
  { intros f. repeat split; try apply depth_more; [|rewrite <- L]; apply depth_half; assumption. }
  unfold depth_levels. rewrite L. fold k.
  pose proof (Nat.div_mod k 2 ltac:(lia)). pose proof (Nat.mod_upper_bound k 2 ltac:(lia)).
  pose proof (Nat.div_mod (S k) 2 ltac:(lia)). pose proof (Nat.mod_upper_bound (S k) 2 ltac:(lia)).
  destruct (Nat.eq_dec (S k / 2) (k / 2)) as [e|n];
    [eapply chain_down; [|apply chain_nil] | eapply chain_up; [|apply chain_nil]];
    induction candidates as [|f l IH]; cbn [map]; constructor; auto;
    destruct (H f) as ([X1 X2] & X3 & X4); unfold up1; lia.
Qed.

Section Depth.
Variables (how : rule) (micro : Z) (p bound r : nat) (candidates : list codes).
Hypothesis Hmicro : (1 <= micro <= max_micro)%Z.
Hypothesis Hp : 1 <= p.
Hypothesis Hb : 1 <= bound.
Hypothesis Hm : (Z.of_nat (length candidates) <= few)%Z.
Hypothesis Hr : r < length candidates.

(** The probability of candidate [r] for a document. *)
Definition by_depth (document : list codes) : R :=
  selects how (per_step micro (Z.of_nat 1)) bound (depth_levels p candidates document) r.

Lemma by_depth_len d : length (depth_levels p candidates d) = length candidates.
Proof. apply map_length. Qed.

(** A sentence added, or removed: e^(eps/2). *)
Theorem depth_added A s B : near (exp (eps micro / 2)) (by_depth (A ++ B)) (by_depth (A ++ s :: B)).
Proof.
  replace (eps micro / 2)%R with (INR 1 * (eps micro / 2))%R by (simpl; field).
  apply per_step_private; rewrite ?by_depth_len; try assumption; try lia. apply depth_step; assumption.
Qed.

(** A sentence replaced: e^eps. *)
Theorem depth_replaced A s s' B : near (exp (eps micro)) (by_depth (A ++ s :: B)) (by_depth (A ++ s' :: B)).
Proof.
  replace (eps micro) with (INR 2 * (eps micro / 2))%R by (simpl; field).
  apply per_step_private; rewrite ?by_depth_len; try assumption; try lia.
  apply (chain_app 1 1) with (depth_levels p candidates (A ++ B)); [apply chain_sym|]; apply depth_step; assumption.
Qed.
End Depth.
