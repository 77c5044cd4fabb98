(** * Independent coins and a uniformly random head

    Every candidate tosses a coin of its own, and a uniformly random head is returned. This file proves
    that the law of that is the integral of [Integral.v], and that it may be drawn as the code draws it:
    first a level by its number of heads, then any candidate of that level, heads or not. *)
Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
Require Import List Permutation Arith.
Require Import Undertone.Integral.
Import ListNotations.
Local Open Scope R_scope.

(** ** Expectations *)

(** The expectation of [f] over independent coins that show heads with the probabilities [p]. *)
Fixpoint E (p : list R) (f : list bool -> R) : R :=
  match p with
  | nil => f nil
  | x :: l => x * E l (fun v => f (true :: v)) + (1 - x) * E l (fun v => f (false :: v))
  end.

Fixpoint heads (v : list bool) : nat :=
  match v with nil => O | true :: l => S (heads l) | false :: l => heads l end.

(** The probability that a uniformly random head of [v] is number [r]; [head_law] is that of all coins. *)
Definition is_drawn (r : nat) (v : list bool) : R := if nth r v false then / INR (heads v) else 0.
Definition head_law (p : list R) (r : nat) : R := E p (is_drawn r).

Definition others (p : list R) (r : nat) : list R := firstn r p ++ skipn (S r) p.

Lemma E_ext p f g : (forall v, length v = length p -> f v = g v) -> E p f = E p g.
Proof.
  revert f g; induction p as [|x p IH]; intros f g H; simpl; [apply H; reflexivity|].
  rewrite (IH (fun v => f (true :: v)) (fun v => g (true :: v))) by (intros; apply H; simpl; congruence).
  rewrite (IH (fun v => f (false :: v)) (fun v => g (false :: v))) by (intros; apply H; simpl; congruence).
  reflexivity.
Qed.

Lemma E_lin p k f g : E p (fun v => k * f v + g v) = k * E p f + E p g.
Proof.
  revert f g; induction p as [|x p IH]; intros f g; simpl; [reflexivity|]. rewrite !IH; ring.
Qed.

Lemma E_const p c : E p (fun _ => c) = c.
Proof. induction p; simpl; [reflexivity|]. rewrite IHp; ring. Qed.

Lemma E_scal p k f : E p (fun v => k * f v) = k * E p f.
Proof.
  rewrite (E_ext p _ (fun v => k * f v + 0)) by (intros; ring).
  rewrite (E_lin p k f (fun _ => 0)), E_const; ring.
Qed.

(** Inequalities need only hold for coins that can fall so: one of probability 1 shows heads. *)
Definition possible (p : list R) (v : list bool) := Forall2 (fun x b => x = 1 -> b = true) p v.

Lemma E_le p f g : unit_list p -> (forall v, possible p v -> f v <= g v) -> E p f <= E p g.
Proof.
  intros U; revert f g; induction U as [|x p Hx U IH]; intros f g H; simpl; [apply H; constructor|].
  apply Rplus_le_compat.
  - apply Rmult_le_compat_l; [lra|]. apply IH; intros; apply H; constructor; auto.
  - destruct (Req_dec x 1) as [->|]; [lra|].
    apply Rmult_le_compat_l; [lra|]. apply IH; intros; apply H; constructor; [contradiction | assumption].
Qed.

Lemma possible_head p v : In 1 p -> possible p v -> (0 < heads v)%nat.
Proof.
  intros I H; induction H as [|x b p v Hx H IH]; [destruct I|].
  destruct I as [->|I]; [rewrite Hx by reflexivity; simpl; lia|]. destruct b; simpl; [lia | auto].
Qed.

(** ** The law is the integral *)

(** The expectation of 1 / (h + 1 + heads of the others). *)
Definition inverse_heads (q : list R) (h : nat) : R := E q (fun v => / INR (S h + heads v)).

Lemma drawn_others p : forall r h, (r < length p)%nat ->
  E p (fun v => if nth r v false then / INR (h + heads v) else 0) = nth r p 0 * inverse_heads (others p r) h.
Proof.
  induction p as [|x p IH]; intros r h Hr; simpl in Hr; [lia|].
  destruct r as [|r]; cbn [E nth heads].
  - rewrite E_const; unfold others; simpl firstn; simpl skipn; unfold inverse_heads.
    rewrite (E_ext p _ (fun v => / INR (S h + heads v))); [simpl app; ring | intros; do 2 f_equal; lia].
  - rewrite (E_ext p (fun v => if nth r v false then / INR (h + S (heads v)) else 0)
                     (fun v => if nth r v false then / INR (S h + heads v) else 0))
      by (intros; destruct (nth r v false); [do 2 f_equal; lia | reflexivity]).
    rewrite !IH by lia.
    change (others (x :: p) (S r)) with (x :: others p r).
    unfold inverse_heads at 3; cbn [E heads].
    rewrite (E_ext (others p r) (fun v => / INR (S h + S (heads v))) (fun v => / INR (S (S h) + heads v)))
      by (intros; do 2 f_equal; lia).
    unfold inverse_heads; ring.
Qed.

(** The generating function of the number of heads. *)
Fixpoint generating (q : list R) (t : R) : R :=
  match q with nil => 1 | x :: l => (1 - x + x * t) * generating l t end.

Lemma generating_miss q t : generating q (-1 * t + 1) = miss q t.
Proof. induction q as [|x q IH]; simpl; [reflexivity|]. rewrite <- IH. ring. Qed.

Lemma generating_cont q t : continuous (generating q) t.
Proof.
  apply (continuous_ext (fun t => miss q (1 - t))).
  - intros s; rewrite <- generating_miss. f_equal; ring.
  - apply (continuous_comp (fun t : R => 1 - t) (miss q)); [|apply miss_cont].
    apply (ex_derive_continuous (fun t : R => 1 - t)); auto_derive; exact Logic.I.
Qed.

Lemma pow_generating_int h q a b : ex_RInt (fun t => t ^ h * generating q t) a b.
Proof.
  apply ex_RInt_contR; intros z.
  apply (continuous_mult (fun t : R => t ^ h) (generating q)); [|apply generating_cont].
  apply (ex_derive_continuous (fun t : R => t ^ h)); auto_derive; exact Logic.I.
Qed.

Lemma RInt_pow h : RInt (fun t => t ^ h) 0 1 = / INR (S h).
Proof.
  apply is_RInt_unique.
  pose proof (is_RInt_derive (V := R_CompleteNormedModule)
    (fun t => t ^ (S h) / INR (S h)) (fun t => t ^ h) 0 1) as D.
  replace (/ INR (S h)) with (1 ^ S h / INR (S h) - 0 ^ S h / INR (S h)).
  - apply D; intros t _.
    + auto_derive; [exact Logic.I|].
      change (match h with O => 1 | S _ => INR h + 1 end) with (INR (S h)).
      simpl Init.Nat.pred. field. apply not_0_INR; lia.
    + apply (ex_derive_continuous (fun t : R => t ^ h)); auto_derive; exact Logic.I.
  - rewrite pow1, pow_i by lia. unfold Rdiv. ring.
Qed.

Lemma inverse_heads_int q : forall h, inverse_heads q h = RInt (fun t => t ^ h * generating q t) 0 1.
Proof.
  induction q as [|x q IH]; intros h.
  - unfold inverse_heads; cbn [E heads generating]. rewrite Nat.add_0_r, <- RInt_pow.
    apply RInt_extR; intros; ring.
  - unfold inverse_heads; cbn [E heads].
    rewrite (E_ext q (fun v => / INR (S h + S (heads v))) (fun v => / INR (S (S h) + heads v)))
      by (intros; do 2 f_equal; lia).
    fold (inverse_heads q (S h)); fold (inverse_heads q h); rewrite !IH.
    rewrite <- (RInt_scalR _ 0 1 x), <- (RInt_scalR _ 0 1 (1 - x)) by apply pow_generating_int.
    rewrite <- RInt_plusR by (apply ex_RInt_scalR, pow_generating_int).
    apply RInt_extR; intros; cbn [generating]; simpl pow; ring.
Qed.

Lemma inverse_heads_integral q : inverse_heads q 0 = integral q.
Proof.
  rewrite inverse_heads_int; unfold integral.
  rewrite (RInt_extR (fun t => t ^ 0 * generating q t) (generating q)) by (intros; simpl; ring).
  assert (C : forall a b, ex_RInt (generating q) a b) by (intros; apply ex_RInt_contR, generating_cont).
  pose proof (RInt_comp_lin (V := R_CompleteNormedModule) (generating q) (-1) 1 0 1 (C _ _)) as L.
  replace (-1 * 0 + 1) with 1 in L by ring. replace (-1 * 1 + 1) with 0 in L by ring.
  rewrite <- (opp_RInt_swap (V := R_CompleteNormedModule) (generating q) 0 1) in L by apply C.
  rewrite (RInt_extR _ (fun y => -1 * miss q y)) in L by (intros; rewrite generating_miss; reflexivity).
  rewrite RInt_scalR in L by apply miss_int.
  change (-1 * RInt (miss q) 0 1 = - RInt (generating q) 0 1) in L. lra.
Qed.

(** A uniformly random head of independent coins has the law of permute-and-flip. *)
Theorem head_law_flip p r : (r < length p)%nat -> head_law p r = flip (nth r p 0) (others p r).
Proof.
  intros Hr; unfold head_law, is_drawn, flip. rewrite <- inverse_heads_integral.
  rewrite <- (drawn_others p r 0 Hr). apply E_ext; intros; reflexivity.
Qed.

(** ** Sums *)

Fixpoint sum_n (f : nat -> R) (n : nat) : R :=
  match n with O => 0 | S m => sum_n f m + f m end.

Lemma sum_ext f g n : (forall i, (i < n)%nat -> f i = g i) -> sum_n f n = sum_n g n.
Proof. induction n; simpl; intros H; [reflexivity|]. rewrite IHn, H; auto. Qed.

Lemma sum_le f g n : (forall i, (i < n)%nat -> f i <= g i) -> sum_n f n <= sum_n g n.
Proof. induction n; simpl; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.

Lemma sum_const c n : sum_n (fun _ => c) n = INR n * c.
Proof. induction n; [simpl; ring|]. rewrite S_INR; simpl. rewrite IHn; ring. Qed.

Lemma sum_scal k f n : sum_n (fun i => k * f i) n = k * sum_n f n.
Proof. induction n; simpl; [ring|]. rewrite IHn; ring. Qed.

Lemma sum_add f a b : sum_n f (a + b) = sum_n f a + sum_n (fun i => f (a + i)%nat) b.
Proof.
  induction b; [rewrite Nat.add_0_r; simpl; ring|]. rewrite Nat.add_succ_r; simpl. rewrite IHb; ring.
Qed.

Lemma sum_shift f n : sum_n f (S n) = f O + sum_n (fun i => f (S i)) n.
Proof. change (S n) with (1 + n)%nat. rewrite sum_add; simpl; ring. Qed.

Lemma E_sum p (f : nat -> list bool -> R) n :
  E p (fun v => sum_n (fun i => f i v) n) = sum_n (fun i => E p (f i)) n.
Proof.
  induction n; simpl; [apply E_const|]. rewrite <- IHn.
  rewrite (E_ext p _ (fun v => 1 * sum_n (fun i => f i v) n + f n v)) by (intros; ring).
  rewrite E_lin; ring.
Qed.

(** ** Coins by level *)

Lemma miss_perm q q' t : Permutation q q' -> miss q t = miss q' t.
Proof. induction 1; simpl; try congruence; ring. Qed.

Lemma integral_perm q q' : Permutation q q' -> integral q = integral q'.
Proof. intros H; apply RInt_ext; intros; apply miss_perm; assumption. Qed.

Lemma others_perm p r : (r < length p)%nat -> Permutation p (nth r p 0 :: others p r).
Proof.
  intros H; unfold others.
  rewrite <- (firstn_skipn r p) at 1.
  assert (Hs : skipn r p = nth r p 0 :: skipn (S r) p).
  { clear - H; revert r H; induction p; intros r H; simpl in H; [lia|].
    destruct r; [reflexivity|]. simpl. apply IHp; lia. }
  rewrite Hs. symmetry; apply Permutation_middle.
Qed.

(** The order of the coins does not matter. *)
Lemma head_law_perm p p' r r' : (r < length p)%nat -> (r' < length p')%nat ->
  Permutation p p' -> nth r p 0 = nth r' p' 0 -> head_law p r = head_law p' r'.
Proof.
  intros H H' P Hn. rewrite !head_law_flip by assumption. unfold flip. rewrite Hn; f_equal.
  apply integral_perm. apply (Permutation_cons_inv (a := nth r p 0)).
  rewrite <- others_perm by assumption. rewrite Hn, <- others_perm by assumption. exact P.
Qed.

Lemma head_law_nonneg p r : unit_list p -> (r < length p)%nat -> 0 <= head_law p r.
Proof.
  intros U L. rewrite head_law_flip by assumption. unfold flip.
  pose proof (proj1 (Forall_forall _ _) (Permutation_Forall (others_perm p r L) U)) as V; cbv beta in V.
  apply Rmult_le_pos; [apply V; left; reflexivity|].
  apply integral_nonneg, Forall_forall. intros; apply V; right; assumption.
Qed.

(** The heads among the [n] coins from number [a] on: those of one level. *)
Definition level_heads (a n : nat) (v : list bool) : nat := heads (firstn n (skipn a v)).

Definition b2r (b : bool) : R := if b then 1 else 0.

Lemma sum_heads v : forall n, (length v <= n)%nat -> sum_n (fun i => b2r (nth i v false)) n = INR (heads v).
Proof.
  induction v as [|b v IH]; intros n Hn.
  - rewrite (sum_ext _ (fun _ => 0)), sum_const; [simpl; ring | intros i _; destruct i; reflexivity].
  - simpl in Hn; destruct n as [|n]; [lia|]. rewrite sum_shift.
    change (fun i => b2r (nth (S i) (b :: v) false)) with (fun i => b2r (nth i v false)).
    rewrite IH by lia. destruct b; cbn [nth b2r heads]; [rewrite S_INR|]; ring.
Qed.

Lemma is_drawn_b2r r v : is_drawn r v = / INR (heads v) * b2r (nth r v false).
Proof. unfold is_drawn, b2r; destruct (nth r v false); ring. Qed.

Lemma nth_slice a n v i : (i < n)%nat -> nth i (firstn n (skipn a v)) false = nth (a + i) v false.
Proof.
  revert a v i; induction n; intros a v i Hi; [lia|].
  revert v; induction a; intros v; destruct v; simpl; try (destruct i; reflexivity).
  - destruct i; [reflexivity|]. apply (IHn O). lia.
  - apply IHa.
Qed.

(** Drawing a level by its number of heads, and then any of the [n] candidates of that level, is drawing a
    uniformly random head: the coins of a level are exchangeable. [A] and [B] are the coins of better and
    of worse levels, [w] is the probability of the coins of this one. *)
Theorem draw_by_level p A w n B r :
  Permutation p (A ++ repeat w n ++ B) -> (r < length p)%nat -> nth r p 0 = w -> (0 < n)%nat ->
  E (A ++ repeat w n ++ B) (fun v => INR (level_heads (length A) n v) / INR (heads v)) / INR n
  = head_law p r.
Proof.
  intros P Hr Hw Hn; set (s := A ++ repeat w n ++ B) in *.
  assert (Ls : forall i, (i < n)%nat -> (length A + i < length s)%nat /\ nth (length A + i) s 0 = w).
  { intros i Hi; unfold s; rewrite !app_length, repeat_length; split; [lia|].
    rewrite app_nth2_plus, app_nth1 by (rewrite repeat_length; lia).
    clear - Hi; revert i Hi; induction n; intros i Hi; [lia|].
    destruct i; [reflexivity|]. simpl; apply IHn; lia. }
  rewrite (E_ext s _ (fun v => sum_n (fun i => is_drawn (length A + i) v) n)).
  - rewrite E_sum. rewrite (sum_ext _ (fun _ => head_law p r)).
    + rewrite sum_const; field. apply not_0_INR; lia.
    + intros i Hi; destruct (Ls i Hi) as [L N].
      change (head_law s (length A + i) = head_law p r).
      apply head_law_perm; [assumption | assumption | symmetry; assumption | congruence].
  - intros v Hv; unfold level_heads.
    rewrite <- (sum_heads _ n) by (rewrite firstn_length; lia).
    unfold Rdiv; rewrite Rmult_comm, <- sum_scal.
    apply sum_ext; intros i Hi. rewrite is_drawn_b2r, nth_slice by assumption. reflexivity.
Qed.

(** The statements are not empty: two certain coins, and a certain one beside one of 1/2. *)
Example two_certain : head_law [1; 1] 0 = 1 / 2.
Proof. unfold head_law, is_drawn; simpl. field. Qed.
Example certain_and_half : head_law [1; / 2] 1 = 1 / 4.
Proof. unfold head_law, is_drawn; simpl. field. Qed.
(** One rho does not do where some coins rise and others fall (rho = 2): mixed steps need two. *)
Example mixed_needs_two : head_law [1; / 2; / 2] 0 > 2 * head_law [/ 2; 1; 1] 0.
Proof. unfold head_law, is_drawn; simpl. lra. Qed.
