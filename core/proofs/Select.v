(** * What the code draws

    A model of select.rs, function by function, that takes random words. [selects] is the probability with which it
    returns a candidate, over words that are uniform and independent. The file proves that this is the law of
    [Steps.v] but for the factor that finite randomness costs. *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import List Permutation Arith.
Require Import Undertone.Integral Undertone.Coins Undertone.Weights Undertone.Draws Undertone.Steps.
Import ListNotations.
Local Open Scope R_scope.

(** ** The model *)

Inductive rule := PermuteAndFlip | Exponential.

(** [Rule::first_weight] *)
Definition first_weight (how : rule) : Z :=
  match how with PermuteAndFlip => two64 | Exponential => 2 ^ 48 end.

(** [histogram]: how many candidates have each level below the bound. *)
Definition count (level : nat) (levels : list nat) : nat := count_occ Nat.eq_dec levels level.
Definition histogram (bound : nat) (levels : list nat) : list nat :=
  map (fun level => count level levels) (seq 0 bound).

(** [weigh]: the weight falls from the first occupied level on. (That the code moves the occupied levels to the front
    changes nothing that is drawn: the others have no candidates, so no coins, no heads and no share.) *)
Fixpoint weigh (C : Z) (counts : list nat) (weight : Z) (occupied : bool) : list Z :=
  match counts with
  | nil => nil
  | n :: rest =>
      let occupied := (occupied || negb (n =? 0)%nat)%bool in
      weight :: weigh C rest (if occupied then step C weight else weight) occupied
  end.

(** The coins of [permute_and_flip], level by level: heads iff the word is below the weight. *)
Fixpoint toss (weights : list Z) (f : list bool -> R) : R :=
  match weights with
  | nil => f nil
  | w :: rest => word (fun u => toss rest (fun v => f ((u <? w)%Z :: v)))
  end.

Definition coins (counts : list nat) (weights : list Z) : list Z :=
  flat_map (fun c => repeat (snd c) (fst c)) (combine counts weights).

Fixpoint heads_by_level (counts : list nat) (v : list bool) : list Z :=
  match counts with
  | nil => nil
  | n :: rest => Z.of_nat (heads (firstn n v)) :: heads_by_level rest (skipn n v)
  end.

(** [draw_level]: the first level at which the running sum of shares passes the target, then a rank among all
    candidates of that level. (The code of [permute_and_flip] keeps the running sums of heads, not the heads.) [D] is how a number is drawn: [draw] by the code, [uniform] by the ideal. *)
Definition zsum (shares : list Z) : Z := fold_right Z.add 0%Z shares.

Fixpoint pick (shares : list Z) (running target : Z) : nat :=
  match shares with
  | nil => O
  | s :: rest => if (target <? running + s)%Z then O else S (pick rest (running + s) target)
  end.

Definition draw_level (D : Z -> (Z -> R) -> R) (counts : list nat) (shares : list Z) (f : nat -> nat -> R) : R :=
  D (zsum shares) (fun target =>
    let level := pick shares 0 target in
    D (Z.of_nat (nth level counts O)) (fun rank => f level (Z.to_nat rank))).

(** [nth_of_level]: the candidate of that level and rank. *)
Fixpoint nth_of_level (levels : list nat) (level rank : nat) : nat :=
  match levels with
  | nil => O
  | x :: rest =>
      if (x =? level)%nat
      then match rank with O => O | S k => S (nth_of_level rest level k) end
      else S (nth_of_level rest level rank)
  end.

Definition is (r i : nat) : R := if (i =? r)%nat then 1 else 0.

(** [select_on]: the probability of candidate [r]. *)
Definition selects_by (D : Z -> (Z -> R) -> R) (how : rule) (C : Z) (bound : nat) (levels : list nat) (r : nat) : R :=
  let levels := map (cut bound) levels in
  let counts := histogram bound levels in
  let weights := weigh C counts (first_weight how) false in
  let found := fun level rank => is r (nth_of_level levels level rank) in
  match how with
  | PermuteAndFlip =>
      toss (coins counts weights) (fun v => draw_level D counts (heads_by_level counts v) found)
  | Exponential =>
      draw_level D counts (map (fun c => Z.of_nat (fst c) * snd c)%Z (combine counts weights)) found
  end.
Definition selects := selects_by draw.

(** ** Candidates by level and rank *)

Lemma nth_of_level_spec l : forall v k r, (k < count v l)%nat ->
  nth_of_level l v k = r <-> (r < length l /\ nth r l O = v /\ k = count v (firstn r l))%nat.
Proof.
  unfold count; induction l as [|x l IH]; intros v k r Hk; [simpl in Hk; lia|].
  cbn [nth_of_level]. cbn [count_occ] in Hk.
  destruct (Nat.eqb_spec x v) as [e|n].
  - destruct (Nat.eq_dec x v); [|contradiction]. destruct k as [|k].
    + split; [intros <-; simpl; repeat split; [lia | assumption]|].
      intros (_ & _ & H). destruct r; [reflexivity|]. cbn [firstn count_occ] in H.
      destruct (Nat.eq_dec x v); [discriminate | contradiction].
    + destruct r as [|r]; [split; [discriminate | intros (_ & _ & H); discriminate]|].
      cbn [firstn count_occ nth length]. destruct (Nat.eq_dec x v); [|contradiction].
      specialize (IH v k r ltac:(lia)). split.
      * intros H; injection H as H. apply IH in H. lia.
      * intros H. f_equal. apply IH. lia.
  - destruct (Nat.eq_dec x v); [contradiction|].
    destruct r as [|r]; [split; [discriminate | intros (_ & H & _); simpl in H; contradiction]|].
    cbn [firstn count_occ nth length]. destruct (Nat.eq_dec x v); [contradiction|].
    specialize (IH v k r Hk). split.
    + intros H; injection H as H. apply IH in H. lia.
    + intros H. f_equal. apply IH. lia.
Qed.

Lemma count_before l r : (r < length l)%nat -> (count (nth r l O) (firstn r l) < count (nth r l O) l)%nat.
Proof.
  intros Hr. unfold count. rewrite <- (firstn_skipn r l) at 3. rewrite count_occ_app.
  assert (In (nth r l O) (skipn r l)) as I.
  { rewrite <- (firstn_skipn r l) at 1. rewrite app_nth2; rewrite firstn_length_le by lia; [|lia].
    rewrite Nat.sub_diag. apply nth_In. rewrite skipn_length; lia. }
  apply (count_occ_In Nat.eq_dec) in I. lia.
Qed.

(** A uniformly random rank of a level finds each of its candidates alike, and no other. *)
Lemma rank_uniform l r v : (r < length l)%nat ->
  uniform (Z.of_nat (count v l)) (fun k => is r (nth_of_level l v (Z.to_nat k)))
  = if (v =? nth r l O)%nat then / INR (count v l) else 0.
Proof.
  intros Hr. unfold is. destruct (Nat.eqb_spec v (nth r l O)) as [->|n].
  - pose proof (count_before l r Hr) as Hc.
    rewrite (uniform_interval _ (Z.of_nat (count (nth r l O) (firstn r l))) 1 _ 1); try lia.
    + rewrite <- INR_IZR_INZ. field. apply not_0_INR; lia.
    + intros i Hi. assert (nth_of_level l (nth r l O) (Z.to_nat i) = r) as ->; [|rewrite Nat.eqb_refl; reflexivity].
      apply nth_of_level_spec; lia.
    + intros i Hi Ho. destruct (Nat.eqb_spec (nth_of_level l (nth r l O) (Z.to_nat i)) r) as [e|]; [|reflexivity].
      apply nth_of_level_spec in e; lia.
  - apply uniform_none; intros i Hi.
    destruct (Nat.eqb_spec (nth_of_level l v (Z.to_nat i)) r) as [e|]; [|reflexivity].
    apply nth_of_level_spec in e; lia.
Qed.

(** ** A level by its share *)

Definition nonneg (shares : list Z) := Forall (fun s => 0 <= s)%Z shares.

Lemma zsum_nonneg s : nonneg s -> (0 <= zsum s)%Z.
Proof. unfold zsum; induction 1; simpl; lia. Qed.

Lemma zsum_firstn s : nonneg s -> forall v, (v < length s)%nat ->
  (0 <= zsum (firstn v s) /\ zsum (firstn v s) + nth v s 0 <= zsum s)%Z.
Proof.
  induction 1 as [|x s Hx H IH]; intros v Hv; simpl in Hv; [lia|].
  destruct v as [|v]; cbn [firstn nth zsum fold_right].
  - apply zsum_nonneg in H. unfold zsum in H. lia.
  - specialize (IH v ltac:(lia)). unfold zsum in *. lia.
Qed.

Lemma pick_spec s : nonneg s -> forall running target, (running <= target < running + zsum s)%Z ->
  (pick s running target < length s)%nat /\ forall v, (v < length s)%nat ->
  (pick s running target = v <->
   running + zsum (firstn v s) <= target < running + zsum (firstn v s) + nth v s 0)%Z.
Proof.
  induction 1 as [|x s Hx H IH]; intros running target Ht; cbn [zsum fold_right] in Ht; [lia|].
  fold (zsum s) in Ht. cbn [pick length].
  destruct (Z.ltb_spec target (running + x)) as [L|L].
  - split; [lia|]. intros [|v] Hv; cbn [firstn zsum fold_right nth]; [lia|]. fold (zsum (firstn v s)).
    pose proof (zsum_firstn s H v ltac:(lia)). split; [discriminate | lia].
  - destruct (IH (running + x)%Z target ltac:(lia)) as [A B]. split; [lia|].
    intros [|v] Hv; cbn [firstn zsum fold_right nth]; [split; [discriminate | lia]|].
    fold (zsum (firstn v s)). specialize (B v ltac:(lia)). lia.
Qed.

(** Ideally, a candidate's probability is the share of its level over the number of candidates there. *)
Lemma draw_level_ideal counts l s r : nonneg s -> (r < length l)%nat ->
  (forall v, (v < length s)%nat -> nth v counts O = count v l) -> (nth r l O < length s)%nat ->
  draw_level uniform counts s (fun v k => is r (nth_of_level l v k))
  = IZR (nth (nth r l O) s 0%Z) / IZR (zsum s) * / INR (count (nth r l O) l).
Proof.
  intros Hs Hr Hc Hl. set (v := nth r l O) in *. unfold draw_level.
  destruct (zsum_firstn s Hs v Hl) as [F1 F2].
  pose proof (proj1 (Forall_forall _ _) Hs (nth v s 0%Z) (nth_In s 0%Z Hl)) as F3; cbv beta in F3.
  pose proof (pick_spec s Hs 0%Z) as P.
  rewrite (uniform_ext _ _ (fun t => if (pick s 0 t =? v)%nat then / INR (count (pick s 0 t) l) else 0)).
  - apply uniform_interval with (zsum (firstn v s)); try lia.
    + intros t Ht. destruct (P t ltac:(lia)) as [_ Q].
      assert (pick s 0 t = v) as -> by (apply Q; lia). rewrite Nat.eqb_refl. reflexivity.
    + intros t Ht Ho. destruct (P t ltac:(lia)) as [_ Q].
      destruct (Nat.eqb_spec (pick s 0 t) v) as [e|]; [|reflexivity]. apply (Q v Hl) in e. lia.
  - intros t Ht. destruct (P t ltac:(lia)) as [Q _].
    cbv zeta. rewrite Hc by assumption. rewrite rank_uniform by assumption. reflexivity.
Qed.

(** At most so many candidates: [MAX_CANDIDATES]. *)
Definition few : Z := 2 ^ 16.

Lemma draw_level_bits counts s f : nonneg s -> (0 < zsum s <= two64)%Z ->
  (forall v, (v < length s)%nat -> (0 < nth v s 0)%Z -> (0 < nth v counts O)%nat) ->
  (forall v, (Z.of_nat (nth v counts O) <= few)%Z) -> (forall v k, 0 <= f v k) ->
  low * draw_level uniform counts s f <= draw_level draw counts s f <= high * draw_level uniform counts s f.
Proof.
  intros Hs Hz Hp Hc Hf. unfold draw_level.
  apply (two_draws_within (zsum s) (fun t => Z.of_nat (nth (pick s 0 t) counts O))
    (fun t k => f (pick s 0 t) (Z.to_nat k))); [assumption | | auto].
  intros t Ht. destruct (pick_spec s Hs 0%Z t ltac:(lia)) as [P Q].
  specialize (Q _ P); destruct Q as [Q _]; specialize (Q eq_refl).
  specialize (Hp _ P ltac:(lia)). specialize (Hc (pick s 0 t)).
  assert (few <= many)%Z by (vm_compute; discriminate). lia.
Qed.

(** ** The table is that of relative levels *)

Lemma weigh_occupied C W0 (c : nat -> nat) k m : forall a, (k <= a)%nat ->
  weigh C (map c (seq a m)) (weight C W0 (a - k)) true = map (fun v => weight C W0 (v - k)) (seq a m).
Proof.
  induction m as [|m IH]; intros a Ha; [reflexivity|]. cbn [seq map weigh orb]. f_equal.
  rewrite <- IH by lia. f_equal. rewrite Nat.sub_succ_l by assumption. reflexivity.
Qed.

Lemma weigh_first C W0 (c : nat -> nat) k m : forall a, (a <= k < a + m)%nat ->
  (forall v, (v < k)%nat -> c v = O) -> c k <> O ->
  weigh C (map c (seq a m)) W0 false = map (fun v => weight C W0 (v - k)) (seq a m).
Proof.
  induction m as [|m IH]; intros a Ha Hc Hk; [lia|]. cbn [seq map weigh orb].
  destruct (Nat.eq_dec a k) as [->|n].
  - rewrite (proj2 (Nat.eqb_neq (c k) 0)) by assumption. cbn [negb]. rewrite Nat.sub_diag. f_equal.
    rewrite <- (weigh_occupied C W0 c k m (S k)) by lia. f_equal.
    rewrite Nat.sub_succ_l, Nat.sub_diag by lia. reflexivity.
  - rewrite Hc by lia. cbn [negb Nat.eqb]. replace (a - k)%nat with O by lia. f_equal. apply IH; lia || assumption.
Qed.

Lemma cut_below bound l : (1 <= bound)%nat -> Forall (fun x => x < bound)%nat (map (cut bound) l).
Proof. intros H; apply Forall_map, Forall_forall. intros x _; unfold cut; lia. Qed.

Lemma weigh_relative C W0 bound l : l <> nil -> Forall (fun x => x < bound)%nat l ->
  weigh C (histogram bound l) W0 false = map (fun v => weight C W0 (v - least l)) (seq 0 bound).
Proof.
  intros N B. unfold histogram. apply weigh_first.
  - pose proof (proj1 (Forall_forall _ _) B _ (least_in l N)); simpl in *; lia.
  - intros v Hv. apply count_occ_not_In. intros I. apply least_le in I. lia.
  - unfold count. pose proof (proj1 (count_occ_In Nat.eq_dec l (least l)) (least_in l N)). lia.
Qed.

Lemma combine_map {A B D} (f : A -> B) (g : A -> D) l :
  combine (map f l) (map g l) = map (fun x => (f x, g x)) l.
Proof. induction l; simpl; congruence. Qed.

(** All candidates, sorted by level. *)
Definition sorted {A} (f : nat -> A) (l : list nat) (levels : list nat) : list A :=
  flat_map (fun v => repeat (f v) (count v l)) levels.

Lemma coins_sorted C W0 bound l : l <> nil -> Forall (fun x => x < bound)%nat l ->
  coins (histogram bound l) (weigh C (histogram bound l) W0 false)
  = sorted (fun v => weight C W0 (v - least l)) l (seq 0 bound).
Proof.
  intros N B. rewrite weigh_relative by assumption. unfold coins, histogram, sorted.
  rewrite combine_map, flat_map_concat_map, map_map, <- flat_map_concat_map. reflexivity.
Qed.

Lemma map_sorted {A B} (g : A -> B) f l levels : map g (sorted f l levels) = sorted (fun v => g (f v)) l levels.
Proof.
  unfold sorted; induction levels; [reflexivity|]. cbn [flat_map]. rewrite map_app, IHlevels. f_equal.
  induction (count a l); simpl; congruence.
Qed.

Lemma count_repeat x v n : count x (repeat v n) = if (x =? v)%nat then n else O.
Proof.
  unfold count. destruct (Nat.eqb_spec x v) as [->|N].
  - apply count_occ_repeat_eq; reflexivity.
  - apply count_occ_repeat_neq; congruence.
Qed.

Lemma sorted_perm l bound : Forall (fun x => x < bound)%nat l -> Permutation l (sorted (fun v => v) l (seq 0 bound)).
Proof.
  intros B. apply (Permutation_count_occ Nat.eq_dec). intros x.
  change (count x l = count x (sorted (fun v => v) l (seq 0 bound))).
  assert (G : forall m a, count x (sorted (fun v => v) l (seq a m))
    = if ((a <=? x) && (x <? a + m))%nat%bool then count x l else O).
  { induction m as [|m IH]; intros a.
    - destruct (Nat.leb_spec a x), (Nat.ltb_spec x (a + 0)); simpl; reflexivity || lia.
    - unfold sorted in *. cbn [seq flat_map]. unfold count at 1. rewrite count_occ_app.
      fold (count x (repeat a (count a l))). fold (count x (flat_map (fun v => repeat v (count v l)) (seq (S a) m))).
      rewrite count_repeat, IH.
      destruct (Nat.eqb_spec x a), (Nat.leb_spec (S a) x), (Nat.leb_spec a x), (Nat.ltb_spec x (S a + m)),
        (Nat.ltb_spec x (a + S m)); subst; simpl; lia. }
  rewrite G. destruct (Nat.ltb_spec x (0 + bound)); [reflexivity|]. simpl.
  apply count_occ_not_In. intros I. pose proof (proj1 (Forall_forall _ _) B _ I). simpl in *; lia.
Qed.

(** The coins of the code are those of the candidates, sorted by level. *)
Lemma relative_perm C W0 bound l : Forall (fun x => x < bound)%nat l ->
  Permutation (relative C W0 l) (sorted (fun v => fraction C W0 (v - least l)) l (seq 0 bound)).
Proof.
  intros B. unfold relative.
  rewrite <- (map_sorted (fun x => fraction C W0 (x - least l)) (fun v => v)).
  apply Permutation_map, sorted_perm; assumption.
Qed.

Lemma sorted_split {A} (f : nat -> A) l bound v : (v < bound)%nat ->
  sorted f l (seq 0 bound)
  = sorted f l (seq 0 v) ++ repeat (f v) (count v l) ++ sorted f l (seq (S v) (bound - S v)).
Proof.
  intros H. replace bound with (v + S (bound - S v))%nat at 1 by lia.
  rewrite seq_app. unfold sorted. rewrite flat_map_app. f_equal.
Qed.

(** ** Heads by level *)

Lemma heads_app u v : heads (u ++ v) = (heads u + heads v)%nat.
Proof. induction u as [|[] u IH]; simpl; lia. Qed.

Lemma heads_le v : (heads v <= length v)%nat.
Proof. induction v as [|[] v IH]; simpl; lia. Qed.

Lemma skipn_twice {A} a : forall b (v : list A), skipn a (skipn b v) = skipn (b + a) v.
Proof.
  induction b as [|b IH]; intros v; [reflexivity|]. destruct v; [apply skipn_nil|]. simpl; apply IH.
Qed.

Lemma heads_by_level_nth counts : forall v i, (i < length counts)%nat ->
  nth i (heads_by_level counts v) 0%Z = Z.of_nat (level_heads (list_sum (firstn i counts)) (nth i counts O) v).
Proof.
  unfold level_heads; induction counts as [|n counts IH]; intros v i Hi; simpl in Hi; [lia|].
  destruct i as [|i]; [reflexivity|]. cbn [heads_by_level nth firstn]. rewrite IH by lia.
  rewrite skipn_twice. reflexivity.
Qed.

Lemma heads_by_level_sum counts : forall v, length v = list_sum counts ->
  zsum (heads_by_level counts v) = Z.of_nat (heads v).
Proof.
  induction counts as [|n counts IH]; intros v Hv.
  - destruct v; [reflexivity | discriminate].
  - change (list_sum (n :: counts)) with (n + list_sum counts)%nat in Hv.
    cbn [heads_by_level zsum fold_right]. fold (zsum (heads_by_level counts (skipn n v))).
    rewrite IH by (rewrite skipn_length; lia).
    rewrite <- (firstn_skipn n v) at 3. rewrite heads_app. lia.
Qed.

Lemma heads_by_level_len counts : forall v, length (heads_by_level counts v) = length counts.
Proof. induction counts; intros; simpl; auto. Qed.

Lemma heads_by_level_nonneg counts : forall v, nonneg (heads_by_level counts v).
Proof. induction counts; intros; simpl; constructor; [lia | apply IHcounts]. Qed.

Lemma sorted_len {A} (f : nat -> A) l levels :
  length (sorted f l levels) = list_sum (map (fun v => count v l) levels).
Proof.
  unfold sorted; induction levels; [reflexivity|]. cbn [flat_map map].
  rewrite app_length, repeat_length, IHlevels. reflexivity.
Qed.

Lemma histogram_firstn bound l v : (v <= bound)%nat ->
  firstn v (histogram bound l) = map (fun v => count v l) (seq 0 v).
Proof.
  intros H. unfold histogram. rewrite firstn_map. f_equal.
  replace bound with (v + (bound - v))%nat by lia. rewrite seq_app.
  rewrite firstn_app, seq_length, Nat.sub_diag, firstn_O, app_nil_r, firstn_all2; [reflexivity|].
  rewrite seq_length; lia.
Qed.

Lemma histogram_nth bound l v : (v < bound)%nat -> nth v (histogram bound l) O = count v l.
Proof.
  intros H. unfold histogram. rewrite (nth_indep _ O (count O l)) by (rewrite map_length, seq_length; assumption).
  rewrite (map_nth (fun v => count v l)). rewrite seq_nth by assumption. reflexivity.
Qed.

Lemma histogram_le bound l v : (nth v (histogram bound l) O <= length l)%nat.
Proof.
  destruct (Nat.lt_ge_cases v bound).
  - rewrite histogram_nth by assumption. apply count_occ_bound.
  - rewrite nth_overflow; [lia|]. unfold histogram. rewrite map_length, seq_length. assumption.
Qed.

(** The coins of random words are independent, with the probabilities of the table. *)
Lemma toss_E weights : forall f, Forall (fun w => 0 <= w <= two64)%Z weights ->
  toss weights f = E (map (fun w => IZR w / IZR two64) weights) f.
Proof.
  induction weights as [|w weights IH]; intros f H; [reflexivity|]. inversion H; subst.
  cbn [toss map E]. rewrite <- !IH by assumption. rewrite <- coin_exact by assumption.
  apply uniform_ext; intros u _. destruct (u <? w)%Z; reflexivity.
Qed.

Lemma zsum_sorted f l levels :
  zsum (sorted f l levels) = zsum (map (fun v => Z.of_nat (count v l) * f v)%Z levels).
Proof.
  assert (A : forall n w t, zsum (repeat w n ++ t) = (Z.of_nat n * w + zsum t)%Z).
  { induction n as [|n IHn]; intros w t; [reflexivity|].
    cbn [repeat app]. change (w + zsum (repeat w n ++ t) = Z.of_nat (S n) * w + zsum t)%Z.
    rewrite IHn, Nat2Z.inj_succ. ring. }
  unfold sorted; induction levels as [|v vs IH]; [reflexivity|].
  cbn [map flat_map]. rewrite A, IH. reflexivity.
Qed.

(** ** The law of the code *)

Definition ideal (how : rule) : list R -> nat -> R :=
  match how with PermuteAndFlip => head_law | Exponential => share end.

Lemma sum_perm p q : Permutation p q -> sum p = sum q.
Proof. unfold sum; induction 1; simpl; lra. Qed.

Lemma sum_zsum zs W : sum (map (fun z => IZR z / W) zs) = IZR (zsum zs) / W.
Proof.
  unfold sum, zsum; induction zs; simpl; [unfold Rdiv; ring|].
  rewrite IHzs, plus_IZR. unfold Rdiv; ring.
Qed.

Lemma relative_nth C W0 l r : (r < length l)%nat ->
  nth r (relative C W0 l) 0 = fraction C W0 (nth r l O - least l).
Proof.
  intros Hr. unfold relative.
  rewrite (nth_indep _ 0 (fraction C W0 (O - least l))) by (rewrite map_length; assumption).
  apply (map_nth (fun x => fraction C W0 (x - least l))).
Qed.

Section Law.
Variables (C : Z) (bound : nat) (levels : list nat) (r : nat).
Hypothesis HC : (0 < C < two64)%Z.
Hypothesis Hb : (1 <= bound)%nat.
Hypothesis Hm : (Z.of_nat (length levels) <= few)%Z.
Hypothesis Hr : (r < length levels)%nat.

Let l := map (cut bound) levels.

Lemma facts : l <> nil /\ Forall (fun x => x < bound)%nat l /\ (r < length l)%nat /\
  (nth r l O < bound)%nat /\ (0 < count (nth r l O) l)%nat /\ length l = length levels.
Proof.
  assert (L : length l = length levels) by apply map_length.
  assert (B : Forall (fun x => x < bound)%nat l) by (apply cut_below; assumption).
  assert (R' : (r < length l)%nat) by lia.
  repeat split; try assumption.
  - intros e. rewrite e in R'; simpl in R'; lia.
  - apply (Forall_at (fun x => (x < bound)%nat)); assumption.
  - pose proof (count_before l r R'). lia.
Qed.

Lemma weights_range W0 : (1 <= W0 <= two64)%Z ->
  Forall (fun w => 0 < w <= W0)%Z (sorted (fun v => weight C W0 (v - least l)) l (seq 0 bound)).
Proof.
  intros HW. apply Forall_forall. intros w I. apply in_flat_map in I as (v & _ & I).
  apply repeat_spec in I as ->. pose proof (weight_bounds C W0 HC HW (v - least l)). lia.
Qed.

Theorem permute_and_flip_within :
  let p := fractions C two64 bound levels in
  low * head_law p r <= selects PermuteAndFlip C bound levels r <= high * head_law p r.
Proof.
  destruct facts as (N & B & R' & V & K & L). intros p.
  unfold selects, selects_by. cbn [first_weight]. fold l.
  set (counts := histogram bound l).
  assert (H0 : (1 <= two64 <= two64)%Z) by (split; [discriminate | lia]).
  assert (Lc : length counts = bound) by (unfold counts, histogram; rewrite map_length, seq_length; reflexivity).
  set (s := sorted (fun v => fraction C two64 (v - least l)) l (seq 0 bound)).
  assert (T : forall f, toss (coins counts (weigh C counts two64 false)) f = E s f).
  { intros f. unfold counts; rewrite coins_sorted by assumption. rewrite toss_E.
    - rewrite map_sorted. reflexivity.
    - apply (Forall_impl _ (P := fun w => (0 < w <= two64)%Z)); [intros; lia | apply weights_range, H0]. }
  rewrite !T.
  assert (Ps : Permutation p s) by (apply relative_perm; assumption).
  assert (Pp : positive p) by (apply fractions_positive; assumption).
  assert (Us : unit_list s) by (apply positive_unit; apply (Permutation_Forall Ps), Pp).
  assert (One : In 1 s).
  { apply (Permutation_in _ Ps). unfold p, fractions, relative. fold l. apply in_map_iff. exists (least l).
    rewrite Nat.sub_diag. split; [|apply least_in; assumption].
    unfold fraction; cbn [weight]. field. apply not_0_IZR; discriminate. }
  assert (Ls : length s = list_sum counts) by (unfold s; rewrite sorted_len; reflexivity).
  assert (Lp : length p = length levels) by apply fractions_len.
  set (found := fun level rank => is r (nth_of_level l level rank)).
  assert (Id : E s (fun v => draw_level uniform counts (heads_by_level counts v) found) = head_law p r).
  { set (w := fraction C two64 (nth r l O - least l)).
    assert (Es : s = sorted (fun v => fraction C two64 (v - least l)) l (seq 0 (nth r l O))
        ++ repeat w (count (nth r l O) l)
        ++ sorted (fun v => fraction C two64 (v - least l)) l (seq (S (nth r l O)) (bound - S (nth r l O)))).
    { unfold s. rewrite (sorted_split _ l bound (nth r l O)) by assumption. reflexivity. }
    rewrite <- (draw_by_level p _ w (count (nth r l O) l) _ r ltac:(rewrite <- Es; exact Ps)).
    - rewrite <- Es. unfold Rdiv at 1. rewrite Rmult_comm, <- E_scal. apply E_ext. intros v Hv.
      unfold found; rewrite draw_level_ideal; try assumption.
      + rewrite heads_by_level_nth by lia. rewrite heads_by_level_sum by lia.
        unfold counts at 2. rewrite histogram_nth by assumption.
        rewrite <- !INR_IZR_INZ. unfold counts. rewrite histogram_firstn by lia.
        rewrite sorted_len. unfold Rdiv. ring.
      + apply heads_by_level_nonneg.
      + intros i Hi. rewrite heads_by_level_len in Hi. apply histogram_nth; lia.
      + rewrite heads_by_level_len; lia.
    - lia.
    - apply relative_nth; assumption.
    - assumption. }
  rewrite <- Id, <- !E_scal.
  assert (Bits : forall v, possible s v ->
    low * draw_level uniform counts (heads_by_level counts v) found
    <= draw_level draw counts (heads_by_level counts v) found
    <= high * draw_level uniform counts (heads_by_level counts v) found).
  { intros v Hv. pose proof (possible_head s v One Hv) as Hh. pose proof (Forall2_len _ _ _ Hv) as Lv.
    pose proof (heads_le v) as Hl. pose proof (Permutation_length Ps) as Pl.
    assert (Few : (few <= two64)%Z) by (vm_compute; discriminate).
    apply draw_level_bits.
    - apply heads_by_level_nonneg.
    - rewrite heads_by_level_sum by lia. lia.
    - intros i Hi Hp. rewrite heads_by_level_len in Hi. rewrite heads_by_level_nth in Hp by assumption.
      unfold level_heads in Hp. destruct (nth i counts O); [simpl in Hp; lia | lia].
    - intros i. pose proof (histogram_le bound l i). unfold counts. lia.
    - intros; unfold found, is. destruct (_ =? _)%nat; lra. }
  split; (apply E_le; [assumption|]); intros v Hv; destruct (Bits v Hv) as [X Y]; [exact X | exact Y].
Qed.

Theorem exponential_within :
  let p := fractions C (2 ^ 48) bound levels in
  low * share p r <= selects Exponential C bound levels r <= high * share p r.
Proof.
  destruct facts as (N & B & R' & V & K & L). intros p.
  unfold selects, selects_by. cbn [first_weight]. fold l.
  set (counts := histogram bound l). set (W0 := (2 ^ 48)%Z) in *.
  assert (H0 : (1 <= W0 <= two64)%Z) by (split; discriminate).
  assert (P0 : 0 < IZR W0) by (apply IZR_lt; lia).
  assert (Lc : length counts = bound) by (unfold counts, histogram; rewrite map_length, seq_length; reflexivity).
  set (shares := map (fun v => (Z.of_nat (count v l) * weight C W0 (v - least l))%Z) (seq 0 bound)).
  assert (Sh : map (fun c => Z.of_nat (fst c) * snd c)%Z (combine counts (weigh C counts W0 false)) = shares).
  { unfold counts. rewrite weigh_relative by assumption. unfold histogram.
    rewrite combine_map, map_map. reflexivity. }
  rewrite !Sh.
  set (s := sorted (fun v => weight C W0 (v - least l)) l (seq 0 bound)).
  pose proof (weights_range W0 H0) as Wr. fold s in Wr.
  assert (Lsh : length shares = bound) by (unfold shares; rewrite map_length, seq_length; reflexivity).
  assert (Zs : zsum shares = zsum s) by (symmetry; apply zsum_sorted).
  assert (Ps : Permutation p (map (fun z => IZR z / IZR W0) s)).
  { unfold s. rewrite map_sorted. apply relative_perm; assumption. }
  assert (Ls : length s = length levels).
  { pose proof (Permutation_length Ps) as X. rewrite map_length in X. rewrite <- X. apply fractions_len. }
  assert (Zr : (0 < zsum s <= two64)%Z).
  { assert (T : (Z.of_nat (length s) <= zsum s <= Z.of_nat (length s) * W0)%Z).
    { clear - Wr. induction Wr as [|w s Hw Wr IH]; [simpl; lia|].
      change (zsum (?x :: ?y)) with (x + zsum y)%Z. cbn [length]. rewrite Nat2Z.inj_succ. lia. }
    assert (F : (few * W0 = two64)%Z) by reflexivity. split; [lia|].
    apply Z.le_trans with (Z.of_nat (length s) * W0)%Z; [lia|]. rewrite <- F. apply Z.mul_le_mono_nonneg_r; lia. }
  assert (Ns : nonneg shares).
  { apply Forall_map, Forall_forall. intros v _. pose proof (weight_bounds C W0 HC H0 (v - least l)). nia. }
  assert (Nth : forall v, (v < bound)%nat -> nth v shares 0%Z = (Z.of_nat (count v l) * weight C W0 (v - least l))%Z).
  { intros v Hv. unfold shares.
    set (g := fun v => (Z.of_nat (count v l) * weight C W0 (v - least l))%Z).
    rewrite (nth_indep _ 0%Z (g O)) by (rewrite map_length, seq_length; assumption).
    rewrite (map_nth g), seq_nth by assumption. reflexivity. }
  set (found := fun level rank => is r (nth_of_level l level rank)).
  assert (Id : draw_level uniform counts shares found = share p r).
  { unfold found. rewrite draw_level_ideal; try assumption; try lia.
    - rewrite Nth by assumption. unfold share. rewrite (sum_perm _ _ Ps), sum_zsum, Zs.
      change p with (relative C W0 l). rewrite relative_nth by assumption.
      rewrite mult_IZR, <- INR_IZR_INZ. unfold fraction.
      assert (Zp : 0 < IZR (zsum s)) by (apply IZR_lt; lia).
      field. repeat split; try lra. apply not_0_INR; lia.
    - intros v Hv. apply histogram_nth; lia. }
  rewrite <- Id. apply draw_level_bits.
  - assumption.
  - rewrite Zs; assumption.
  - intros v Hv Hp. rewrite Lsh in Hv. rewrite Nth in Hp by assumption.
    unfold counts; rewrite histogram_nth by assumption. destruct (count v l); [simpl in Hp; lia | lia].
  - intros v. pose proof (histogram_le bound l v). unfold counts. lia.
  - intros; unfold found, is. destruct (_ =? _)%nat; lra.
Qed.
End Law.
