(** * Discrete Laplace noise

    What [discrete.rs] adds to each coordinate of a vector: the coordinate is rounded at random to one of the two grid
    points around it, a number of steps is drawn from a table of integer weights, and the sum is cut at a public box.
    This file models that, takes random words as the code does, and proves that it protects every distance, the bits
    that a draw does not have included. *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import List Arith.
Require Import Undertone.Integral Undertone.Coins Undertone.Weights Undertone.Draws Undertone.Steps.
Import ListNotations.
Local Open Scope Z_scope.

(** ** The model *)

(** [ratio]: C, from A. *)
Definition constant (A : Z) : Z := up (2 ^ 96) (2 ^ 32 + A) + 4.

Definition noise_weight (C : Z) (i : nat) : Z := weight C (2 ^ 58) i.

(** [STEPS] *)
Definition stored : nat := 704.

(** [Weights::fill]. [N] is the last magnitude. *)
Fixpoint sums (C : Z) (i : nat) : Z :=
  match i with O => noise_weight C 0 | S j => sums C j + 2 * noise_weight C (S j) end.
Definition end_of_stored (C : Z) : Z := sums C (stored - 1).
Definition flat (C : Z) : Z := 2 * noise_weight C stored.
Definition last_weight (C : Z) : Z := up (noise_weight C stored * C) (two64 - C).
Definition after (N : Z) : Z := N - (Z.of_nat stored - 1).
Definition total (C N : Z) : Z := end_of_stored C + (after N - 1) * flat C + 2 * last_weight C.

(** [Weights::magnitude] *)
Fixpoint passed (C drawn : Z) (i : nat) : Z :=
  match i with O => 0 | S j => passed C drawn j + (if sums C j <=? drawn then 1 else 0) end.
Definition magnitude (C N drawn : Z) : Z :=
  passed C drawn stored + Z.min (Z.max 0 (drawn - end_of_stored C) / flat C) (after N - 1).

(** [add_noise], one coordinate: the probability of [y]. [side] is half the box, in steps of the grid; [x] counts
    2^-40 of a step. *)
Definition clamp (side y : Z) : Z := Z.max (- side) (Z.min y side).
Definition here (a b : Z) : R := if a =? b then 1%R else 0%R.
Definition noisy (C side x y : Z) : R :=
  word (fun w => draw (total C (2 * side)) (fun drawn =>
    let k := magnitude C (2 * side) drawn in
    let up := if w / 2 ^ 24 <? x mod 2 ^ 40 then 1 else 0 in
    here (clamp side (x / 2 ^ 40 + up + (if Z.odd w then - k else k))) y)).

(** ** Expectations *)

Local Open Scope R_scope.

(** Blocks of numbers that give the same. *)
Lemma sum_blocks (start : nat -> Z) (f : Z -> R) (g : nat -> R) : start O = 0%Z ->
  forall n, (forall k, (k < n)%nat -> (start k <= start (S k))%Z) ->
  (forall k t, (k < n)%nat -> (start k <= t < start (S k))%Z -> f t = g k) ->
  sum_n (fun i => f (Z.of_nat i)) (Z.to_nat (start n)) = sum_n (fun k => IZR (start (S k) - start k) * g k) n.
Proof.
  intros S0. assert (P : forall n, (forall k, (k < n)%nat -> (start k <= start (S k))%Z) -> (0 <= start n)%Z).
  { induction n as [|n IH]; intros M; [lia|]. specialize (IH (fun k Hk => M k ltac:(lia))).
    specialize (M n ltac:(lia)). lia. }
  induction n as [|n IH]; intros M H; [rewrite S0; reflexivity|].
  pose proof (P n (fun k Hk => M k ltac:(lia))) as Pn. pose proof (M n ltac:(lia)) as Mn.
  replace (Z.to_nat (start (S n))) with (Z.to_nat (start n) + Z.to_nat (start (S n) - start n))%nat by lia.
  rewrite sum_add, IH by (intros; try apply M; try (eapply H; [|eassumption]); lia). cbn [sum_n]. f_equal.
  rewrite (sum_ext (fun i => f (Z.of_nat (Z.to_nat (start n) + i))) (fun _ => g n))
    by (intros i Hi; apply H; lia).
  rewrite sum_const, INR_IZR_INZ, Z2Nat.id by lia. reflexivity.
Qed.

Lemma sum_single f n i : (i < n)%nat -> (forall k, (k < n)%nat -> k <> i -> f k = 0) -> sum_n f n = f i.
Proof.
  intros Hi H. replace n with (i + (1 + (n - i - 1)))%nat by lia. rewrite !sum_add.
  rewrite (sum_ext f (fun _ => 0) i) by (intros; apply H; lia).
  rewrite (sum_ext (fun k => f (i + (1 + k))%nat) (fun _ => 0)) by (intros; apply H; lia).
  rewrite !sum_const. cbn [sum_n]. rewrite Nat.add_0_r. ring.
Qed.

Lemma sum_plus f g n : sum_n (fun i => f i + g i) n = sum_n f n + sum_n g n.
Proof. induction n; simpl; [ring|]. rewrite IHn; ring. Qed.

Lemma uniform_pairs a b f : (0 < a)%Z -> (0 < b)%Z ->
  uniform a (fun i => uniform b (fun j => f (i * b + j)%Z)) = uniform (a * b) f.
Proof.
  intros Ha Hb; unfold uniform. rewrite Z2Nat.inj_mul by lia. rewrite <- sum_pairs.
  rewrite (sum_ext (fun i => sum_n (fun j => f (Z.of_nat i * b + Z.of_nat j)%Z) (Z.to_nat b) / IZR b)
    (fun i => / IZR b * sum_n (fun j => f (Z.of_nat (i * Z.to_nat b + j))) (Z.to_nat b))).
  - rewrite sum_scal, mult_IZR. field. split; apply not_0_IZR; lia.
  - intros i _. unfold Rdiv; rewrite Rmult_comm. f_equal. apply sum_ext; intros j _.
    f_equal. rewrite Nat2Z.inj_add, Nat2Z.inj_mul, Z2Nat.id by lia. reflexivity.
Qed.

(** The upper 40 bits of a word round, the last bit is the sign: independent of each other, and exact. *)
Lemma round_and_sign f (g : bool -> bool -> R) : (0 <= f <= 2 ^ 40)%Z ->
  word (fun w => g (w / 2 ^ 24 <? f)%Z (Z.odd w))
  = IZR f / IZR (2 ^ 40) * ((g true false + g true true) / 2)
    + (1 - IZR f / IZR (2 ^ 40)) * ((g false false + g false true) / 2).
Proof.
  intros Hf. unfold word. change two64 with (2 ^ 40 * 2 ^ 24)%Z.
  rewrite <- uniform_pairs by reflexivity.
  assert (I : forall b, uniform (2 ^ 24) (fun j => g b (Z.odd j)) = (g b false + g b true) / 2).
  { intros b. change (2 ^ 24)%Z with (2 ^ 23 * 2)%Z. rewrite <- uniform_pairs by reflexivity.
    rewrite (uniform_ext _ _ (fun _ => (g b false + g b true) / 2)); [apply uniform_const; reflexivity|].
    intros i _. unfold uniform. change (Z.to_nat 2) with 2%nat. cbn [sum_n].
    change (Z.of_nat 0) with 0%Z; change (Z.of_nat 1) with 1%Z.
    rewrite !Z.odd_add, Z.odd_mul. change (Z.odd 2) with false. rewrite Bool.andb_false_r.
    cbn [Z.odd xorb]. field. }
  rewrite (uniform_ext _ _ (fun i => if (i <? f)%Z then (g true false + g true true) / 2
                                     else (g false false + g false true) / 2)).
  - set (h := (g true false + g true true) / 2); set (t := (g false false + g false true) / 2).
    unfold uniform. assert (W : IZR (2 ^ 40) <> 0) by (apply not_0_IZR; discriminate).
    set (m := (2 ^ 40)%Z) in *. clearbody m.
    replace (Z.to_nat m) with (Z.to_nat f + Z.to_nat (m - f))%nat by lia. rewrite sum_add.
    rewrite (sum_ext (fun i => if (Z.of_nat i <? f)%Z then h else t) (fun _ => h))
      by (intros; destruct (Z.ltb_spec (Z.of_nat i) f); [reflexivity | lia]).
    rewrite (sum_ext (fun i => if (Z.of_nat (Z.to_nat f + i) <? f)%Z then h else t) (fun _ => t))
      by (intros; destruct (Z.ltb_spec (Z.of_nat (Z.to_nat f + i)) f); [lia | reflexivity]).
    rewrite !sum_const, !INR_IZR_INZ, !Z2Nat.id, minus_IZR by lia. field; assumption.
  - intros i Hi. rewrite (uniform_ext _ _ (fun j => g (i <? f)%Z (Z.odd j))).
    + rewrite I. destruct (i <? f)%Z; reflexivity.
    + intros j Hj. f_equal.
      * f_equal. rewrite Z.div_add_l by discriminate. rewrite Z.div_small by assumption. ring.
      * rewrite Z.odd_add, Z.odd_mul. change (Z.odd (2 ^ 24)) with false.
        rewrite Bool.andb_false_r. apply Bool.xorb_false_l.
Qed.

(** ** The table *)

Local Open Scope Z_scope.

Lemma stored_is : Z.of_nat stored = 704. Proof. reflexivity. Qed.
Lemma some_stored : (0 <? stored)%nat = true. Proof. reflexivity. Qed.

Lemma noise_weight_range C i : 0 < C < two64 -> 1 <= noise_weight C i <= 2 ^ 58.
Proof. intros HC. apply (weight_bounds C); [assumption | split; discriminate]. Qed.

Lemma noise_weight_falls C i : 0 < C < two64 ->
  (IZR (noise_weight C (S i)) <= IZR (noise_weight C i) <= rho_of C * IZR (noise_weight C (S i)))%R.
Proof.
  intros HC. destruct (weight_falls C (2 ^ 58) HC ltac:(split; discriminate) i) as [A B].
  split; [assumption|]. pose proof (rho_ge_1 C HC). apply div_le_mult; [lra | exact A].
Qed.
Opaque stored noise_weight.

Section Table.
Variables C N : Z.
Hypothesis HC : 0 < C < two64.
Hypothesis HN : Z.of_nat stored < N.

Lemma sums_grow i j : (i <= j)%nat -> sums C i <= sums C j.
Proof.
  induction 1 as [|j _ IH]; [lia|]. cbn [sums]. pose proof (noise_weight_range C (S j) HC). lia.
Qed.

Lemma last_pos : 0 < last_weight C.
Proof.
  assert (~ last_weight C <= 0); [|lia]. unfold last_weight. rewrite up_spec by lia.
  pose proof (noise_weight_range C stored HC). nia.
Qed.

(** Where magnitude [k] begins, among the numbers below the total. *)
Definition start (k : nat) : Z :=
  match k with
  | O => 0
  | S j => if (j <? stored)%nat then sums C j
           else if Z.of_nat k <=? N then end_of_stored C + (Z.of_nat k - Z.of_nat stored) * flat C
           else total C N
  end.

(** The weight of magnitude [k], that of one sign. *)
Definition of_magnitude (k : nat) : Z :=
  if (k <? stored)%nat then noise_weight C k
  else if Z.of_nat k <? N then noise_weight C stored else last_weight C.


Lemma width k : Z.of_nat k <= N -> start (S k) - start k = (if (k =? 0)%nat then 1 else 2) * of_magnitude k.
Proof.
  intros Hk. pose proof stored_is as S4. assert (E : end_of_stored C = sums C (stored - 1)) by reflexivity.
  assert (F : flat C = 2 * noise_weight C stored) by reflexivity.
  assert (T : total C N = end_of_stored C + (N - Z.of_nat stored) * flat C + 2 * last_weight C)
    by (unfold total, after; ring).
  destruct k as [|k].
  - unfold start, of_magnitude. rewrite some_stored. cbn [sums Nat.eqb]. lia.
  - unfold start, of_magnitude. cbn [Nat.eqb]. revert E F T HN S4. generalize stored; intros s E F T HN' S4.
    destruct (Nat.ltb_spec (S k) s) as [A|A].
    + destruct (Nat.ltb_spec k s); [|lia]. cbn [sums]. ring.
    + assert (G : (if (k <? s)%nat then sums C k else if Z.of_nat (S k) <=? N
        then end_of_stored C + (Z.of_nat (S k) - Z.of_nat s) * flat C else total C N)
        = end_of_stored C + (Z.of_nat (S k) - Z.of_nat s) * flat C).
      { destruct (Nat.ltb_spec k s).
        - replace (sums C k) with (end_of_stored C) by (rewrite E; f_equal; lia).
          replace (Z.of_nat (S k) - Z.of_nat s) with 0 by lia. ring.
        - destruct (Z.leb_spec (Z.of_nat (S k)) N); [reflexivity | lia]. }
      rewrite G. set (d := Z.of_nat (S k)) in *. replace (Z.of_nat (S (S k))) with (d + 1) by lia.
      destruct (Z.ltb_spec d N) as [B|B]; destruct (Z.leb_spec (d + 1) N) as [D|D]; try lia.
      rewrite T. replace N with d by lia. ring.
Qed.

Lemma of_magnitude_pos k : 1 <= of_magnitude k.
Proof.
  unfold of_magnitude. pose proof (noise_weight_range C k HC). pose proof (noise_weight_range C stored HC).
  pose proof last_pos. destruct (k <? stored)%nat, (Z.of_nat k <? N); lia.
Qed.

Lemma passed_all drawn i : (i <= stored)%nat -> end_of_stored C <= drawn -> passed C drawn i = Z.of_nat i.
Proof.
  intros Hi Hd. induction i as [|i IH]; [reflexivity|]. cbn [passed]. rewrite IH by lia.
  pose proof (sums_grow i (stored - 1) ltac:(lia)). unfold end_of_stored in Hd.
  destruct (Z.leb_spec (sums C i) drawn); lia.
Qed.

Lemma passed_some drawn k : (k < stored)%nat -> start k <= drawn < sums C k -> forall i,
  passed C drawn i = Z.of_nat (Nat.min i k).
Proof.
  intros Hk Hd. induction i as [|i IH]; [reflexivity|]. cbn [passed]. rewrite IH.
  destruct (Nat.le_gt_cases k i) as [L|L].
  - pose proof (sums_grow k i L). destruct (Z.leb_spec (sums C i) drawn); lia.
  - assert (sums C i <= drawn).
    { destruct k as [|k]; [lia|]. unfold start in Hd. destruct (Nat.ltb_spec k stored); [|lia].
      pose proof (sums_grow i k ltac:(lia)). lia. }
    destruct (Z.leb_spec (sums C i) drawn); lia.
Qed.

(** The code finds the magnitude in whose block a number lies. *)
Lemma magnitude_spec drawn k : Z.of_nat k <= N -> start k <= drawn < start (S k) ->
  magnitude C N drawn = Z.of_nat k.
Proof.
  intros Hk Hd. pose proof stored_is as S4. pose proof (noise_weight_range C stored HC) as W.
  assert (F : flat C = 2 * noise_weight C stored) by reflexivity. unfold magnitude.
  assert (Af : after N - 1 = N - Z.of_nat stored) by (unfold after; ring). rewrite Af.
  destruct (Nat.ltb_spec k stored) as [A|A].
  - assert (E : start (S k) = sums C k) by (unfold start; destruct (Nat.ltb_spec k stored); [reflexivity | lia]).
    rewrite E in Hd. rewrite (passed_some drawn k A Hd), Nat.min_r by lia.
    pose proof (sums_grow k (stored - 1) ltac:(lia)). unfold end_of_stored.
    rewrite Z.max_l, Z.div_0_l by lia. lia.
  - assert (E : start k = end_of_stored C + (Z.of_nat k - Z.of_nat stored) * flat C).
    { destruct k as [|k]; [lia|]. unfold start. destruct (Nat.ltb_spec k stored) as [B|B].
      - assert (Z.of_nat (S k) = Z.of_nat stored) as -> by lia. unfold end_of_stored.
        replace k with (stored - 1)%nat by lia. ring.
      - destruct (Z.leb_spec (Z.of_nat (S k)) N); [reflexivity | lia]. }
    rewrite E in Hd.
    assert (G : end_of_stored C <= drawn) by (rewrite F in Hd; nia).
    rewrite (passed_all drawn stored ltac:(lia) G), Z.max_r by lia.
    pose proof (Z.div_mod (drawn - end_of_stored C) (flat C) ltac:(lia)) as D.
    pose proof (Z.mod_pos_bound (drawn - end_of_stored C) (flat C) ltac:(lia)) as M.
    set (q := (drawn - end_of_stored C) / flat C) in *. clearbody q.
    destruct (Z.ltb_spec (Z.of_nat k) N) as [B|B].
    + assert (E' : start (S k) = end_of_stored C + (Z.of_nat (S k) - Z.of_nat stored) * flat C).
      { unfold start. destruct (Nat.ltb_spec k stored); [lia|].
        destruct (Z.leb_spec (Z.of_nat (S k)) N); [reflexivity | lia]. }
      rewrite E' in Hd. assert (q = Z.of_nat k - Z.of_nat stored) by nia. lia.
    + assert (Z.of_nat k = N) as Ek by lia. rewrite Ek in *.
      assert (N - Z.of_nat stored <= q) by nia. lia.
Qed.

Lemma start_end : start (S (Z.to_nat N)) = total C N.
Proof.
  pose proof stored_is. unfold start. destruct (Nat.ltb_spec (Z.to_nat N) stored); [lia|].
  destruct (Z.leb_spec (Z.of_nat (S (Z.to_nat N))) N); [lia | reflexivity].
Qed.

Lemma total_pos : 0 < total C N.
Proof.
  rewrite <- start_end. assert (forall k, Z.of_nat k <= N + 1 -> Z.of_nat k <= start k) as H.
  { induction k as [|k IH]; intros Hk; [simpl; lia|]. pose proof (width k ltac:(lia)) as E.
    pose proof (of_magnitude_pos k). specialize (IH ltac:(lia)). destruct (k =? 0)%nat; lia. }
  specialize (H (S (Z.to_nat N)) ltac:(lia)). lia.
Qed.

Local Open Scope R_scope.

(** The weight of a magnitude as a number. *)
Let v (k : nat) : R := IZR (of_magnitude k).

(** Ideally a magnitude has the probability of its block: v / total, twice that if there are two signs. *)
Lemma magnitude_law (g : Z -> R) :
  uniform (total C N) (fun drawn => g (magnitude C N drawn))
  = sum_n (fun k => (if (k =? 0)%nat then 1 else 2) * v k * g (Z.of_nat k)) (S (Z.to_nat N)) / IZR (total C N).
Proof.
  unfold uniform. f_equal. rewrite <- start_end.
  rewrite (sum_blocks start (fun drawn => g (magnitude C N drawn)) (fun k => g (Z.of_nat k))); [|reflexivity| |].
  - apply sum_ext. intros k Hk. rewrite width by lia. unfold v. destruct (k =? 0)%nat; rewrite mult_IZR; reflexivity.
  - intros k Hk. pose proof (width k ltac:(lia)). pose proof (of_magnitude_pos k). destruct (k =? 0)%nat; lia.
  - intros k t Hk Ht. f_equal. apply magnitude_spec; [lia | assumption].
Qed.

(** ** One step of the grid *)

(** All magnitudes from [j] on. *)
Definition tail (j : Z) : R := sum_n (fun k => if (j <=? Z.of_nat k)%Z then v k else 0) (S (Z.to_nat N)).

Lemma v_pos k : 1 <= v k.
Proof. unfold v. apply IZR_le, of_magnitude_pos. Qed.

Lemma tail_next j : (0 <= j <= N)%Z -> tail j = v (Z.to_nat j) + tail (j + 1).
Proof.
  intros Hj. unfold tail.
  assert (E : v (Z.to_nat j) = sum_n (fun k => if (k =? Z.to_nat j)%nat then v k else 0) (S (Z.to_nat N))).
  { rewrite (sum_single _ (S (Z.to_nat N)) (Z.to_nat j)); [rewrite Nat.eqb_refl; reflexivity | lia |].
    intros k _ H. destruct (Nat.eqb_spec k (Z.to_nat j)); [contradiction | reflexivity]. }
  rewrite E.
  rewrite <- sum_plus. apply sum_ext. intros k Hk.
  destruct (Nat.eqb_spec k (Z.to_nat j)), (Z.leb_spec j (Z.of_nat k)), (Z.leb_spec (j + 1) (Z.of_nat k));
    try lia; ring.
Qed.

Lemma tail_end : tail N = v (Z.to_nat N).
Proof.
  unfold tail. rewrite (sum_single _ (S (Z.to_nat N)) (Z.to_nat N)); [|lia|].
  - destruct (Z.leb_spec N (Z.of_nat (Z.to_nat N))); [reflexivity | lia].
  - intros k Hk H. destruct (Z.leb_spec N (Z.of_nat k)); [lia | reflexivity].
Qed.

Let rho : R := rho_of C.

Lemma rho_1 : 1 <= rho.
Proof. apply rho_ge_1; assumption. Qed.

(** Two neighbouring magnitudes, the last aside. *)
Lemma v_falls k : (Z.of_nat k + 1 < N)%Z -> v (S k) <= v k <= rho * v (S k).
Proof.
  intros Hk. pose proof rho_1 as R1. unfold v, of_magnitude.
  destruct (Z.ltb_spec (Z.of_nat (S k)) N); [|lia]. destruct (Z.ltb_spec (Z.of_nat k) N); [|lia].
  assert (F := fun i => noise_weight_falls C i HC). fold rho in F.
  destruct (Nat.ltb_spec (S k) stored).
  - destruct (Nat.ltb_spec k stored); [apply F | lia].
  - destruct (Nat.ltb_spec k stored).
    + replace stored with (S k) by lia. apply F.
    + pose proof (noise_weight_range C stored HC) as [W _]. apply IZR_le in W. nra.
Qed.

(** The last pays for the tail that is cut. *)
Lemma v_last : v (Z.to_nat (N - 1)) <= (rho - 1) * v (Z.to_nat N).
Proof.
  unfold v, of_magnitude. destruct (Nat.ltb_spec (Z.to_nat (N - 1)) stored); [lia|].
  destruct (Nat.ltb_spec (Z.to_nat N) stored); [lia|].
  destruct (Z.ltb_spec (Z.of_nat (Z.to_nat (N - 1))) N); [|lia].
  destruct (Z.ltb_spec (Z.of_nat (Z.to_nat N)) N); [lia|].
  assert (L : (noise_weight C stored * C <= last_weight C * (two64 - C))%Z) by (apply up_spec; [lia | apply Z.le_refl]).
  apply IZR_le in L. rewrite !mult_IZR, minus_IZR in L. unfold rho, rho_of.
  assert (0 < IZR C) by (apply IZR_lt; lia).
  apply Rmult_le_reg_r with (IZR C); [assumption|].
  replace ((IZR two64 / IZR C - 1) * IZR (last_weight C) * IZR C) with (IZR (last_weight C) * (IZR two64 - IZR C))
    by (field; lra). exact L.
Qed.

Lemma v_tail i : forall j, (0 <= j)%Z -> (j + Z.of_nat i + 1 = N)%Z -> v (Z.to_nat j) <= (rho - 1) * tail (j + 1).
Proof.
  pose proof rho_1 as R1. induction i as [|i IH]; intros j Hj E.
  - replace (j + 1)%Z with N by lia. rewrite tail_end. replace j with (N - 1)%Z by lia. exact v_last.
  - rewrite tail_next by lia. specialize (IH (j + 1)%Z ltac:(lia) ltac:(lia)).
    pose proof (v_falls (Z.to_nat j) ltac:(lia)) as [_ F].
    replace (S (Z.to_nat j)) with (Z.to_nat (j + 1)) in F by lia. nra.
Qed.

Lemma tail_falls j : (0 <= j < N)%Z -> near rho (tail j) (tail (j + 1)).
Proof.
  intros Hj. pose proof rho_1 as R1.
  pose proof (v_tail (Z.to_nat (N - j - 1)) j ltac:(lia) ltac:(lia)) as V. pose proof (v_pos (Z.to_nat j)) as P.
  pose proof (tail_next j ltac:(lia)) as T. set (t := tail (j + 1)) in *.
  assert (0 < t) by nra. split; rewrite T; nra.
Qed.


(** ** The law of a coordinate that is a point of the grid *)

Variable side : Z.
Hypothesis Hside : (N = 2 * side)%Z.

(** What [noisy] draws once the coordinate is rounded to [X]. [D] is how a number is drawn: [draw] by the code,
    [uniform] by the ideal. *)
Definition from_point (D : Z -> (Z -> R) -> R) (X y : Z) : R :=
  (D (total C N) (fun drawn => here (clamp side (X + magnitude C N drawn)) y)
   + D (total C N) (fun drawn => here (clamp side (X - magnitude C N drawn)) y)) / 2.

Lemma side_pos : (0 < side)%Z.
Proof. pose proof stored_is. lia. Qed.

Lemma point_sum X y : from_point uniform X y =
  (v 0 * here (clamp side X) y
   + sum_n (fun k => v (S k) * (here (clamp side (X + Z.of_nat (S k))) y + here (clamp side (X - Z.of_nat (S k))) y))
       (Z.to_nat N)) / IZR (total C N).
Proof.
  unfold from_point.
  rewrite (magnitude_law (fun k => here (clamp side (X + k)) y)),
    (magnitude_law (fun k => here (clamp side (X - k)) y)).
  rewrite !sum_shift. cbn [Nat.eqb]. change (Z.of_nat 0) with 0%Z. rewrite Z.add_0_r, Z.sub_0_r.
  rewrite (sum_ext (fun k => v (S k) * _)
    (fun k => / 2 * (2 * v (S k) * here (clamp side (X + Z.of_nat (S k))) y)
              + / 2 * (2 * v (S k) * here (clamp side (X - Z.of_nat (S k))) y))) by (intros; field).
  rewrite sum_plus, !sum_scal. pose proof total_pos as T. apply IZR_lt in T. field. lra.
Qed.

(** On the border the tail, inside one magnitude. *)
Lemma point_law X y : (- side <= X <= side)%Z -> (- side <= y <= side)%Z ->
  from_point uniform X y =
  (if (y =? side)%Z then tail (side - X) else if (y =? - side)%Z then tail (side + X) else v (Z.to_nat (Z.abs (y - X))))
  / IZR (total C N).
Proof.
  intros HX Hy. pose proof side_pos as Sp. rewrite point_sum. unfold Rdiv at 1 2. f_equal.
  unfold here, clamp, tail. destruct (Z.eqb_spec y side) as [E|E]; [|destruct (Z.eqb_spec y (- side)) as [E'|E']].
  - rewrite sum_shift. f_equal.
    + destruct (Z.eqb_spec (Z.max (- side) (Z.min X side)) y), (Z.leb_spec (side - X) (Z.of_nat 0)); try lia; ring.
    + apply sum_ext. intros k Hk.
      destruct (Z.eqb_spec (Z.max (- side) (Z.min (X + Z.of_nat (S k)) side)) y),
        (Z.eqb_spec (Z.max (- side) (Z.min (X - Z.of_nat (S k)) side)) y),
        (Z.leb_spec (side - X) (Z.of_nat (S k))); try lia; ring.
  - rewrite sum_shift. f_equal.
    + destruct (Z.eqb_spec (Z.max (- side) (Z.min X side)) y), (Z.leb_spec (side + X) (Z.of_nat 0)); try lia; ring.
    + apply sum_ext. intros k Hk.
      destruct (Z.eqb_spec (Z.max (- side) (Z.min (X + Z.of_nat (S k)) side)) y),
        (Z.eqb_spec (Z.max (- side) (Z.min (X - Z.of_nat (S k)) side)) y),
        (Z.leb_spec (side + X) (Z.of_nat (S k))); try lia; ring.
  - destruct (Z.to_nat (Z.abs (y - X))) as [|d] eqn:D.
    + assert (y = X) as -> by lia. rewrite (sum_ext _ (fun _ => 0)).
      * rewrite sum_const. destruct (Z.eqb_spec (Z.max (- side) (Z.min X side)) X); [ring | lia].
      * intros k Hk.
        destruct (Z.eqb_spec (Z.max (- side) (Z.min (X + Z.of_nat (S k)) side)) X),
          (Z.eqb_spec (Z.max (- side) (Z.min (X - Z.of_nat (S k)) side)) X); try lia; ring.
    + rewrite (sum_single _ (Z.to_nat N) d); [|lia|].
      * destruct (Z.eqb_spec (Z.max (- side) (Z.min X side)) y); [lia|].
        destruct (Z.eqb_spec (Z.max (- side) (Z.min (X + Z.of_nat (S d)) side)) y),
          (Z.eqb_spec (Z.max (- side) (Z.min (X - Z.of_nat (S d)) side)) y); try lia; ring.
      * intros k Hk Hd.
        destruct (Z.eqb_spec (Z.max (- side) (Z.min (X + Z.of_nat (S k)) side)) y),
          (Z.eqb_spec (Z.max (- side) (Z.min (X - Z.of_nat (S k)) side)) y); try lia; ring.
Qed.

Lemma tail_pos j : (0 <= j <= N)%Z -> 0 < tail j.
Proof.
  intros Hj. pose proof (v_pos (Z.to_nat N)) as P. destruct (Z.eq_dec j N) as [->|n]; [rewrite tail_end; lra|].
  pose proof (tail_falls j ltac:(lia)) as [A B]. pose proof rho_1. pose proof (v_pos (Z.to_nat j)).
  pose proof (v_tail (Z.to_nat (N - j - 1)) j ltac:(lia) ltac:(lia)). rewrite tail_next by lia. nra.
Qed.

(** One step of the grid costs rho. *)
Lemma point_step X y : (- side <= X < side)%Z -> (- side <= y <= side)%Z ->
  0 < from_point uniform X y /\ 0 < from_point uniform (X + 1) y /\
  near rho (from_point uniform X y) (from_point uniform (X + 1) y).
Proof.
  intros HX Hy. pose proof rho_1 as R1. rewrite !point_law by lia.
  assert (T : 0 < / IZR (total C N)) by (apply Rinv_0_lt_compat, IZR_lt, total_pos).
  assert (S : forall a b, 0 < a -> 0 < b -> near rho a b ->
    0 < a / IZR (total C N) /\ 0 < b / IZR (total C N) /\ near rho (a / IZR (total C N)) (b / IZR (total C N))).
  { intros a b Ha Hb [A B]. unfold near, Rdiv. rewrite <- !Rmult_assoc.
    repeat split; [apply Rmult_lt_0_compat | apply Rmult_lt_0_compat | apply Rmult_le_compat_r
                   | apply Rmult_le_compat_r]; lra. }
  apply S; clear S T;
    (destruct (Z.eqb_spec y side) as [E|E]; [|destruct (Z.eqb_spec y (- side)) as [E'|E']]);
    try (apply tail_pos; lia); try (pose proof (v_pos (Z.to_nat (Z.abs (y - X)))); lra);
    try (pose proof (v_pos (Z.to_nat (Z.abs (y - (X + 1))))); lra).
  - apply near_sym. replace (side - X)%Z with (side - (X + 1) + 1)%Z by ring. apply tail_falls; lia.
  - replace (side + (X + 1))%Z with (side + X + 1)%Z by ring. apply tail_falls; lia.
  - destruct (Z.leb_spec y X).
    + replace (Z.to_nat (Z.abs (y - (X + 1)))) with (Datatypes.S (Z.to_nat (Z.abs (y - X)))) by lia.
      pose proof (v_falls (Z.to_nat (Z.abs (y - X))) ltac:(lia)) as F.
      pose proof (v_pos (Datatypes.S (Z.to_nat (Z.abs (y - X))))). split; nra.
    + replace (Z.to_nat (Z.abs (y - X))) with (Datatypes.S (Z.to_nat (Z.abs (y - (X + 1))))) by lia.
      pose proof (v_falls (Z.to_nat (Z.abs (y - (X + 1)))) ltac:(lia)) as F.
      pose proof (v_pos (Datatypes.S (Z.to_nat (Z.abs (y - (X + 1)))))). split; nra.
Qed.

(** With the bits of the draw. *)
Hypothesis HT : (total C N <= two64)%Z.

Lemma point_bits X y :
  (1 - delta two64) * from_point uniform X y <= from_point draw X y <= (1 + delta two64) * from_point uniform X y.
Proof.
  assert (P : forall a b, 0 <= here a b) by (intros; unfold here; destruct (_ =? _)%Z; lra).
  pose proof total_pos as T. unfold from_point.
  pose proof (draw_within (total C N) two64 (fun drawn => here (clamp side (X + magnitude C N drawn)) y)
    ltac:(lia) ltac:(lia) (fun i _ => P _ _)).
  pose proof (draw_within (total C N) two64 (fun drawn => here (clamp side (X - magnitude C N drawn)) y)
    ltac:(lia) ltac:(lia) (fun i _ => P _ _)). lra.
Qed.
End Table.

Local Open Scope R_scope.

Lemma bits_cost : (1 + delta two64) <= (1 - delta two64) * (1 + / IZR (2 ^ 62)).
Proof.
  assert (E : delta two64 = / IZR two64).
  { unfold delta, two128. rewrite mult_IZR. field. apply not_0_IZR; discriminate. }
  rewrite E. assert (A : IZR two64 = 4 * IZR (2 ^ 62)) by (rewrite <- mult_IZR; reflexivity).
  assert (B : 4 <= IZR (2 ^ 62)) by (apply IZR_le; discriminate). rewrite A.
  set (q := IZR (2 ^ 62)) in *. clearbody q.
  rewrite Rinv_mult. assert (Q : 0 < / q <= / 4).
  { split; [apply Rinv_0_lt_compat; lra | apply Rinv_le_contravar; lra]. } nra.
Qed.

(** ** Between the points of the grid *)

(** What one step costs, more than which no two neighbouring points differ, is 1 + a; then a fraction of a step costs
    that fraction of a. Rounding at random is what makes this so. *)
Lemma mixture a p q f g : 0 <= a -> 0 <= p -> 0 <= q -> near (1 + a) p q -> 0 <= f <= 1 -> 0 <= g <= 1 ->
  near (exp (a * Rabs (f - g))) ((1 - f) * p + f * q) ((1 - g) * p + g * q).
Proof.
  intros Ha Hp Hq [A B]. revert f g.
  assert (H : forall f g, 0 <= f <= 1 -> 0 <= g <= 1 ->
    (1 - f) * p + f * q <= exp (a * Rabs (f - g)) * ((1 - g) * p + g * q)).
  { intros f g Hf Hg. set (m := (1 - g) * p + g * q).
    assert (M : q - p <= a * m /\ p - q <= a * m /\ 0 <= m).
    { assert (L : m = p + g * (q - p)) by (unfold m; ring). clearbody m.
      destruct (Rle_dec p q) as [O|O].
      - assert (0 <= g * (q - p)) by nra. assert (a * p <= a * m) by (apply Rmult_le_compat_l; lra).
        assert (0 <= a * p) by nra. repeat split; lra.
      - assert (0 <= (1 - g) * (p - q)) by nra. assert (a * q <= a * m) by (apply Rmult_le_compat_l; lra).
        assert (0 <= a * q) by nra. repeat split; lra. }
    destruct M as (M1 & M2 & M3).
    assert (X : (1 - f) * p + f * q <= (1 + a * Rabs (f - g)) * m).
    { replace ((1 - f) * p + f * q) with (m + (f - g) * (q - p)) by (unfold m; ring).
      unfold Rabs. destruct (Rcase_abs (f - g)); nra. }
    apply Rle_trans with (1 := X). apply Rmult_le_compat_r; [assumption|].
    pose proof (Rabs_pos (f - g)). assert (0 <= a * Rabs (f - g)) as [P|<-] by nra;
      [left; apply exp_ineq1; lra | rewrite exp_0; lra]. }
  intros f g Hf Hg. split; [apply H; assumption | rewrite Rabs_minus_sym; apply H; assumption].
Qed.

(** The total fits in 64 bits: it grows with C, and for the largest C it is computed. *)
Lemma step_grows C' D w w' : (0 <= C' <= D -> 0 <= w <= w' -> step C' w <= step D w')%Z.
Proof.
  intros HC Hw. pose proof two64_pos as P. unfold step. generalize dependent two64. intros m P.
  apply Z.max_le_compat_l. apply up_spec; [assumption|].
  apply Z.le_trans with (Z.min w' m * D)%Z; [apply Z.mul_le_mono_nonneg; lia|].
  apply up_spec; [assumption | apply Z.le_refl].
Qed.

Lemma weights_grow C D i : (0 < C <= D)%Z -> (D < two64)%Z -> (noise_weight C i <= noise_weight D i)%Z.
Proof.
  intros HC HD. Transparent noise_weight. unfold noise_weight. Opaque noise_weight.
  induction i as [|i IH]; cbn [weight]; [lia|]. apply step_grows; [lia|].
  split; [|assumption]. pose proof (weight_bounds C (2 ^ 58) ltac:(lia) ltac:(split; discriminate) i). lia.
Qed.

Lemma total_grows C D N M : (0 < C <= D)%Z -> (D < two64)%Z -> (Z.of_nat stored < N <= M)%Z ->
  (total C N <= total D M)%Z.
Proof.
  intros HC HD HN.
  assert (S : forall i, (sums C i <= sums D i)%Z).
  { pose proof (fun i => weights_grow C D i HC HD) as W.
    induction i as [|i IH]; cbn [sums]; [apply W | pose proof (W (Datatypes.S i)); lia]. }
  pose proof (weights_grow C D stored HC HD) as W.
  pose proof (noise_weight_range C stored ltac:(lia)) as WC. pose proof (noise_weight_range D stored ltac:(lia)) as WD.
  assert (L : (last_weight C <= last_weight D)%Z).
  { unfold last_weight. revert HC HD W WC WD. generalize two64, (noise_weight C stored), (noise_weight D stored).
    intros m w w' HC HD W WC WD. apply up_spec; [lia|].
    assert (U : (w' * D <= up (w' * D) (m - D) * (m - D))%Z) by (apply up_spec; [lia | apply Z.le_refl]).
    set (u := up (w' * D) (m - D)) in *. clearbody u.
    assert (0 < u)%Z by nia. apply Z.le_trans with (w' * D)%Z; [apply Z.mul_le_mono_nonneg; lia|].
    apply Z.le_trans with (1 := U). apply Z.mul_le_mono_nonneg_l; lia. }
  pose proof (S (stored - 1)%nat) as E.
  assert (F : ((N - Z.of_nat stored) * noise_weight C stored <= (M - Z.of_nat stored) * noise_weight D stored)%Z)
    by (apply Z.mul_le_mono_nonneg; lia).
  unfold total, after, end_of_stored, flat. lia.
Qed.

(** The sums and the weights in one go, to compute them. *)
Fixpoint running (C : Z) (i : nat) : Z * Z :=
  match i with
  | O => (2 ^ 58, 2 ^ 58)%Z
  | S j => let (sum, w) := running C j in let next := step C w in (sum + 2 * next, next)%Z
  end.

Lemma running_is C i : running C i = (sums C i, noise_weight C i).
Proof.
  induction i as [|i IH]; [reflexivity|]. cbn [running sums]. rewrite IH.
  Transparent noise_weight. reflexivity. Opaque noise_weight.
Qed.

Lemma up_falls n d d' : (0 <= n -> 0 < d <= d' -> up n d' <= up n d)%Z.
Proof.
  intros Hn Hd. apply up_spec; [lia|].
  assert (U : (n <= up n d * d)%Z) by (apply up_spec; [lia | apply Z.le_refl]).
  assert (0 <= up n d)%Z by (apply Z.div_pos; lia). nia.
Qed.

Section Coordinate.
Variables A side : Z.
(** [rate] gives such A. The box has from 2^12 to 2^21 steps on either side. *)
Hypothesis HA : (2 ^ 28 - 1 <= A <= 2 ^ 29)%Z.
Hypothesis Hside : (2 ^ 12 <= side <= 2 ^ 21)%Z.

Let C : Z := constant A.
Let N : Z := (2 * side)%Z.

(** a of the page: what a step of the grid costs. *)
Definition step_cost (A : Z) : R := IZR A / IZR (2 ^ 32).

Lemma constant_range : (0 < C <= constant (2 ^ 28 - 1) /\ constant (2 ^ 28 - 1) < two64)%Z.
Proof.
  assert (U : (0 <= up (2 ^ 96) (2 ^ 32 + A))%Z) by (apply Z.div_pos; lia).
  split; [split|reflexivity]; [unfold C, constant; lia|].
  unfold C, constant. apply Z.add_le_mono_r, up_falls; lia.
Qed.

Lemma total_fits : (total C N <= two64)%Z.
Proof.
  destruct constant_range as [HC HD].
  apply Z.le_trans with (total (constant (2 ^ 28 - 1)) (2 ^ 22)).
  - apply total_grows; [assumption | assumption |]. rewrite stored_is. unfold N. lia.
  - set (D := constant (2 ^ 28 - 1)).
    pose proof (running_is D (stored - 1)) as E. pose proof (running_is D stored) as F.
    assert (T : (total D (2 ^ 22) = fst (running D (stored - 1)) + (2 ^ 22 - 704) * (2 * snd (running D stored))
      + 2 * up (snd (running D stored) * D) (two64 - D))%Z).
    { rewrite E, F. unfold total, after, end_of_stored, flat, last_weight. rewrite stored_is. cbn [fst snd]. ring. }
    rewrite T. clear E F T. unfold D. Transparent stored. vm_compute. discriminate. Opaque stored.
Qed.

Lemma rho_cost : (1 + / IZR (2 ^ 62)) * rho_of C <= 1 + step_cost A.
Proof.
  destruct constant_range as [[HC _] _]. unfold rho_of, step_cost.
  assert (K : (2 ^ 64 * 2 ^ 32 * (2 ^ 62 + 1) <= (2 ^ 32 + A) * (C * 2 ^ 62))%Z).
  { assert (U : (2 ^ 96 <= up (2 ^ 96) (2 ^ 32 + A) * (2 ^ 32 + A))%Z) by (apply up_spec; lia).
    unfold C, constant. set (u := up (2 ^ 96) (2 ^ 32 + A)) in *. clearbody u.
    change (2 ^ 64 * 2 ^ 32 * (2 ^ 62 + 1))%Z with (2 ^ 96 * 2 ^ 62 + 4 * 2 ^ 32 * 2 ^ 62)%Z. nia. }
  apply IZR_le in K. rewrite !mult_IZR, !plus_IZR in K.
  assert (C0 : 0 < IZR C) by (apply IZR_lt; assumption). change two64 with (2 ^ 64)%Z.
  assert (P : forall n, (0 < n)%Z -> 0 < IZR n) by (intros; apply IZR_lt; assumption).
  pose proof (P (2 ^ 32)%Z ltac:(reflexivity)). pose proof (P (2 ^ 62)%Z ltac:(reflexivity)).
  set (a := IZR A) in *; set (c := IZR C) in *; set (q := IZR (2 ^ 62)) in *; set (h := IZR (2 ^ 32)) in *;
    set (t := IZR (2 ^ 64)) in *; clearbody a c q h t.
  apply Rmult_le_reg_r with (h * (c * q)); [assert (0 < c * q) by nra; nra|].
  replace ((1 + / q) * (t / c) * (h * (c * q))) with (t * h * (q + 1)) by (field; lra).
  replace ((1 + a / h) * (h * (c * q))) with ((h + a) * (c * q)) by (field; lra). lra.
Qed.

Lemma small_total : (Z.of_nat stored < N)%Z.
Proof. rewrite stored_is. unfold N. lia. Qed.

Let law (X y : Z) : R := from_point C N side draw X y.

Lemma law_step X y : (- side <= X < side)%Z -> (- side <= y <= side)%Z ->
  0 <= law X y /\ 0 <= law (X + 1) y /\ near (1 + step_cost A) (law X y) (law (X + 1) y).
Proof.
  intros HX Hy. destruct constant_range as [HC HD]. assert (Cr : (0 < C < two64)%Z) by lia.
  destruct (point_step C N Cr small_total side eq_refl X y HX Hy) as (P & Q & [L M]).
  pose proof (point_bits C N Cr small_total side total_fits X y) as [B1 B2].
  pose proof (point_bits C N Cr small_total side total_fits (X + 1) y) as [D1 D2].
  fold (law X y) in B1, B2. fold (law (X + 1) y) in D1, D2.
  pose proof bits_cost as K. pose proof rho_cost as K2. pose proof (rho_ge_1 C Cr) as R1.
  destruct deltas as [[E1 E2] _]. set (d := delta two64) in *. set (rho := rho_of C) in *.
  set (p := from_point C N side uniform X y) in *. set (q := from_point C N side uniform (X + 1) y) in *.
  set (e := / IZR (2 ^ 62)) in *. assert (0 < e) by (apply Rinv_0_lt_compat, IZR_lt; reflexivity).
  clearbody d rho p q e.
  assert (W : forall u v lu lv, 0 < u -> 0 < v -> u <= rho * v -> lu <= (1 + d) * u -> (1 - d) * v <= lv ->
    lu <= (1 + step_cost A) * lv).
  { intros u v lu lv Hu Hv H1 H2 H3. apply Rle_trans with ((1 + d) * (rho * v)); [nra|].
    apply Rle_trans with ((1 + e) * rho * ((1 - d) * v)); [|apply Rmult_le_compat; nra].
    replace ((1 + e) * rho * ((1 - d) * v)) with ((1 - d) * (1 + e) * (rho * v)) by ring.
    apply Rmult_le_compat_r; nra. }
  repeat split; [nra | nra | apply (W p q) | apply (W q p)]; assumption.
Qed.

(** [noisy] is the mixture of the laws of the two points around. *)
Lemma noisy_mixture x y : noisy C side x y =
  (1 - IZR (x mod 2 ^ 40) / IZR (2 ^ 40)) * law (x / 2 ^ 40) y
  + IZR (x mod 2 ^ 40) / IZR (2 ^ 40) * law (x / 2 ^ 40 + 1) y.
Proof.
  unfold noisy. fold N. pose proof (Z.mod_pos_bound x (2 ^ 40) ltac:(reflexivity)) as M.
  rewrite (round_and_sign (x mod 2 ^ 40) (fun up minus => draw (total C N) (fun drawn =>
    here (clamp side (x / 2 ^ 40 + (if up then 1 else 0)
      + (if minus then - magnitude C N drawn else magnitude C N drawn))) y))) by lia.
  unfold law, from_point. rewrite Z.add_0_r. unfold Z.sub. ring.
Qed.
End Coordinate.

(** ** Any distance *)

Section Distance.
Variables A side : Z.
Hypothesis HA : (2 ^ 28 - 1 <= A <= 2 ^ 29)%Z.
Hypothesis Hside : (2 ^ 12 <= side <= 2 ^ 21)%Z.

Let unit : Z := (2 ^ 40)%Z.
Let P (x y : Z) : R := noisy (constant A) side x y.
Let law (X y : Z) : R := from_point (constant A) (2 * side) side draw X y.

(** What the way from [x] up to [x'] costs. *)
Definition cost (x x' : Z) : R := step_cost A * (IZR (x' - x) / IZR (2 ^ 40)).

Lemma step_cost_pos : 0 <= step_cost A.
Proof.
  unfold step_cost. apply Rmult_le_pos; [apply IZR_le; lia | apply inv_nonneg; discriminate].
Qed.

Lemma cell X y f g : (- side <= X < side)%Z -> (- side <= y <= side)%Z -> 0 <= f <= 1 -> 0 <= g <= 1 ->
  near (exp (step_cost A * Rabs (f - g))) ((1 - f) * law X y + f * law (X + 1) y)
    ((1 - g) * law X y + g * law (X + 1) y).
Proof.
  intros HX Hy Hf Hg. destruct (law_step A side HA Hside X y HX Hy) as (Z1 & Z2 & Z3).
  exact (mixture _ _ _ f g step_cost_pos Z1 Z2 Z3 Hf Hg).
Qed.

Lemma unit_pos : 0 < IZR unit. Proof. apply IZR_lt; reflexivity. Qed.

Lemma fraction_range z : 0 <= IZR (z mod unit) / IZR unit <= 1.
Proof.
  pose proof unit_pos as U. pose proof (Z.mod_pos_bound z unit ltac:(reflexivity)) as [M1 M2].
  apply IZR_le in M1. apply IZR_lt in M2. split.
  - apply Rmult_le_pos; [assumption | left; apply Rinv_0_lt_compat; assumption].
  - apply Rmult_le_reg_r with (IZR unit); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** Within one cell of the grid, its upper end included. *)
Lemma within_cell x x' y : (- side * unit <= x)%Z -> (x <= x' <= side * unit)%Z -> (x' <= (x / unit + 1) * unit)%Z ->
  (- side <= y <= side)%Z -> near (exp (cost x x')) (P x y) (P x' y).
Proof.
  intros Hl Hx Hc Hy. assert (U : (0 < unit)%Z) by reflexivity. pose proof unit_pos as U'.
  destruct (Z.eq_dec x x') as [<-|n].
  { unfold cost. replace (IZR (x - x)) with 0 by (rewrite Z.sub_diag; reflexivity).
    replace (step_cost A * (0 / IZR (2 ^ 40))) with 0 by (unfold Rdiv; ring). rewrite exp_0. apply near_refl. }
  pose proof (Z.div_mod x unit ltac:(lia)) as D. pose proof (Z.mod_pos_bound x unit U) as M.
  set (X := (x / unit)%Z) in *. set (r := (x mod unit)%Z) in *.
  assert (HX : (- side <= X < side)%Z).
  { split; [|nia]. apply Z.div_le_lower_bound; lia. }
  assert (E : P x' y = (1 - IZR (x' - X * unit) / IZR unit) * law X y + IZR (x' - X * unit) / IZR unit * law (X + 1) y).
  { unfold P. rewrite (noisy_mixture A side). fold unit. fold (law (x' / unit) y) (law (x' / unit + 1) y).
    pose proof (Z.div_mod x' unit ltac:(lia)) as D'. pose proof (Z.mod_pos_bound x' unit U) as M'.
    destruct (Z.eq_dec x' ((X + 1) * unit)) as [e|e].
    - assert (x' / unit = X + 1)%Z as -> by (subst x'; apply Z.div_mul; lia).
      assert (x' mod unit = 0)%Z as -> by (subst x'; apply Z.mod_mul; lia).
      replace (x' - X * unit)%Z with unit by lia. field. lra.
    - assert (x' / unit = X)%Z as Q by (symmetry; apply Z.div_unique_pos with (x' - X * unit)%Z; [lia | ring]).
      rewrite Q in *.
      replace (x' - X * unit)%Z with (x' mod unit)%Z by lia. reflexivity. }
  assert (E' : P x y = (1 - IZR r / IZR unit) * law X y + IZR r / IZR unit * law (X + 1) y)
    by (unfold P; rewrite (noisy_mixture A side); reflexivity).
  rewrite E, E'.
  assert (C : step_cost A * Rabs (IZR r / IZR unit - IZR (x' - X * unit) / IZR unit) = cost x x').
  { unfold cost. f_equal. fold unit. rewrite Rabs_minus_sym.
    replace (IZR (x' - X * unit) / IZR unit - IZR r / IZR unit) with (IZR (x' - x) / IZR unit).
    - apply Rabs_right. apply Rle_ge, Rmult_le_pos; [apply IZR_le; lia | left; apply Rinv_0_lt_compat; assumption].
    - replace (x' - x)%Z with (x' - X * unit - r)%Z by lia. rewrite (minus_IZR (x' - X * unit)). field. lra. }
  rewrite <- C. apply cell; try assumption; [apply fraction_range|].
  assert (B : (0 <= x' - X * unit <= unit)%Z) by lia. destruct B as [B1 B2]. apply IZR_le in B1, B2. split.
  - apply Rmult_le_pos; [assumption | left; apply Rinv_0_lt_compat; assumption].
  - apply Rmult_le_reg_r with (IZR unit); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma upwards n : forall x x' y, (- side * unit <= x)%Z -> (x <= x' <= side * unit)%Z ->
  (x' <= (x / unit + Z.of_nat n + 1) * unit)%Z -> (- side <= y <= side)%Z -> near (exp (cost x x')) (P x y) (P x' y).
Proof.
  assert (U : (0 < unit)%Z) by reflexivity.
  induction n as [|n IH]; intros x x' y Hl Hx Hc Hy; [apply within_cell; try assumption; lia|].
  destruct (Z.le_gt_cases x' ((x / unit + 1) * unit)) as [L|G]; [apply within_cell; assumption|].
  pose proof (Z.div_mod x unit ltac:(lia)) as D. pose proof (Z.mod_pos_bound x unit U) as M.
  set (z := ((x / unit + 1) * unit)%Z) in *.
  assert (Q : (z / unit = x / unit + 1)%Z) by (apply Z.div_mul; lia).
  replace (exp (cost x x')) with (exp (cost x z) * exp (cost z x')).
  - apply near_trans with (P z y); [left; apply exp_pos | left; apply exp_pos | |].
    + apply within_cell; try assumption; unfold z in *; nia.
    + apply IH; try assumption; try rewrite Q; unfold z in *; nia.
  - rewrite <- exp_plus. f_equal. unfold cost. replace (x' - x)%Z with (x' - z + (z - x))%Z by ring.
    rewrite (plus_IZR (x' - z)). field. apply not_0_IZR; discriminate.
Qed.

(** One coordinate: what its distance costs, whatever is released. *)
Theorem coordinate_private x x' y : (- side * 2 ^ 40 <= x <= side * 2 ^ 40)%Z ->
  (- side * 2 ^ 40 <= x' <= side * 2 ^ 40)%Z -> (- side <= y <= side)%Z ->
  near (exp (step_cost A * (IZR (Z.abs (x - x')) / IZR (2 ^ 40))))
    (noisy (constant A) side x y) (noisy (constant A) side x' y).
Proof.
  assert (U : (0 < unit)%Z) by reflexivity.
  assert (H : forall x x', (- side * unit <= x)%Z -> (x <= x' <= side * unit)%Z -> (- side <= y <= side)%Z ->
    near (exp (step_cost A * (IZR (Z.abs (x - x')) / IZR unit))) (P x y) (P x' y)).
  { clear x x'. intros x x' Hl Hx Hy. replace (Z.abs (x - x')) with (x' - x)%Z by lia. fold (cost x x').
    apply (upwards (Z.to_nat (x' / unit - x / unit))); try assumption.
    pose proof (Z.div_mod x' unit ltac:(lia)). pose proof (Z.mod_pos_bound x' unit U).
    pose proof (Z.div_le_mono x x' unit U ltac:(lia)). rewrite Z2Nat.id by lia. nia. }
  intros Hx Hx' Hy. change (2 ^ 40)%Z with unit in Hx, Hx' |- *. destruct (Z.le_ge_cases x x').
  - apply H; lia.
  - replace (Z.abs (x - x')) with (Z.abs (x' - x)) by lia. apply near_sym. apply H; lia.
Qed.
End Distance.

(** ** Vectors *)

(** Coordinates are drawn one after the other, each with words of its own: their probabilities are multiplied. *)
Fixpoint noisy_vector (C side : Z) (xs ys : list Z) : R :=
  match xs, ys with
  | x :: xs, y :: ys => noisy C side x y * noisy_vector C side xs ys
  | _, _ => 1
  end.

Fixpoint l1 (xs xs' : list Z) : Z :=
  match xs, xs' with x :: xs, x' :: xs' => Z.abs (x - x') + l1 xs xs' | _, _ => 0 end%Z.
Fixpoint squares (xs xs' : list Z) : Z :=
  match xs, xs' with x :: xs, x' :: xs' => (x - x') * (x - x') + squares xs xs' | _, _ => 0 end%Z.

Definition in_box (side : Z) (xs : list Z) : Prop := Forall (fun x => - side * 2 ^ 40 <= x <= side * 2 ^ 40)%Z xs.

Lemma cauchy xs : forall xs', length xs = length xs' ->
  (0 <= l1 xs xs' /\ l1 xs xs' * l1 xs xs' <= Z.of_nat (length xs) * squares xs xs')%Z.
Proof.
  induction xs as [|x xs IH]; intros [|x' xs'] L; try discriminate; [simpl; lia|].
  cbn [l1 squares length] in *. destruct (IH xs' ltac:(lia)) as [I0 I].
  rewrite Nat2Z.inj_succ. unfold Z.succ.
  replace ((x - x') * (x - x'))%Z with (Z.abs (x - x') * Z.abs (x - x'))%Z by lia.
  assert (S0 : (0 <= squares xs xs')%Z).
  { clear. revert xs'. induction xs as [|x xs IH]; intros [|x' xs']; cbn [squares]; try lia.
    apply Z.add_nonneg_nonneg; [apply Z.square_nonneg | apply IH]. }
  pose proof (Z.abs_nonneg (x - x')) as A0.
  set (a := Z.abs (x - x')) in *. set (s := l1 xs xs') in *. set (q := squares xs xs') in *.
  assert (M0 : (0 <= Z.of_nat (length xs))%Z) by lia. set (m := Z.of_nat (length xs)) in *.
  clearbody a s q m. split; [lia|].
  assert (T : (2 * (a * s) <= m * (a * a) + q)%Z).
  { destruct (Z.eq_dec m 0) as [->|n]; [assert (s = 0)%Z as -> by nia; lia|].
    assert (0 <= (m * a - s) * (m * a - s))%Z by apply Z.square_nonneg.
    apply Z.mul_le_mono_pos_l with m; [lia|]. nia. }
  nia.
Qed.

Lemma noisy_nonneg C side x y : 0 <= noisy C side x y.
Proof.
  unfold noisy, draw, word. repeat (apply uniform_nonneg; [discriminate|]; intros).
  unfold here. destruct (_ =? _)%Z; lra.
Qed.

Lemma noisy_vector_nonneg A side xs : forall ys, 0 <= noisy_vector (constant A) side xs ys.
Proof.
  induction xs as [|x xs IH]; intros [|y ys]; cbn [noisy_vector]; try lra.
  apply Rmult_le_pos; [apply noisy_nonneg | apply IH].
Qed.

(** Any two vectors: what the sum of their differences costs. *)
Theorem vector_private A side xs xs' ys : (2 ^ 28 - 1 <= A <= 2 ^ 29)%Z -> (2 ^ 12 <= side <= 2 ^ 21)%Z ->
  length xs = length xs' -> in_box side xs -> in_box side xs' -> Forall (fun y => - side <= y <= side)%Z ys ->
  near (exp (step_cost A * (IZR (l1 xs xs') / IZR (2 ^ 40))))
    (noisy_vector (constant A) side xs ys) (noisy_vector (constant A) side xs' ys).
Proof.
  intros HA Hs. revert xs' ys. induction xs as [|x xs IH]; intros [|x' xs'] ys L B B' By; try discriminate.
  { cbn [l1 noisy_vector]. replace (step_cost A * (0 / IZR (2 ^ 40))) with 0 by (unfold Rdiv; ring). rewrite exp_0.
    apply near_refl. }
  inversion B as [|? ? Hx Hxs]; inversion B' as [|? ? Hx' Hxs']; subst.
  destruct ys as [|y ys]; cbn [l1 noisy_vector].
  { assert (1 <= exp (step_cost A * (IZR (Z.abs (x - x') + l1 xs xs') / IZR (2 ^ 40)))) as G.
    { rewrite <- exp_0. assert (0 <= step_cost A * (IZR (Z.abs (x - x') + l1 xs xs') / IZR (2 ^ 40))) as [H| <-].
      - apply Rmult_le_pos; [apply step_cost_pos; assumption|]. apply Rmult_le_pos; [|apply inv_nonneg; discriminate].
        apply IZR_le. pose proof (cauchy xs xs' ltac:(simpl in L; lia)). lia.
      - left. apply exp_increasing. assumption.
      - lra. }
    split; lra. }
  inversion By as [|? ? Hy Hys]; subst.
  pose proof (coordinate_private A side HA Hs x x' y Hx Hx' Hy) as [C1 C2].
  destruct (IH xs' ys ltac:(simpl in L; lia) Hxs Hxs' Hys) as [I1 I2].
  pose proof (noisy_nonneg (constant A) side x y). pose proof (noisy_nonneg (constant A) side x' y).
  pose proof (noisy_vector_nonneg A side xs ys). pose proof (noisy_vector_nonneg A side xs' ys).
  replace (exp (step_cost A * (IZR (Z.abs (x - x') + l1 xs xs') / IZR (2 ^ 40))))
    with (exp (step_cost A * (IZR (Z.abs (x - x')) / IZR (2 ^ 40)))
      * exp (step_cost A * (IZR (l1 xs xs') / IZR (2 ^ 40)))).
  - set (k := exp (step_cost A * (IZR (Z.abs (x - x')) / IZR (2 ^ 40)))) in *.
    set (k' := exp (step_cost A * (IZR (l1 xs xs') / IZR (2 ^ 40)))) in *. split.
    + replace (k * k' * (noisy (constant A) side x' y * noisy_vector (constant A) side xs' ys))
        with (k * noisy (constant A) side x' y * (k' * noisy_vector (constant A) side xs' ys)) by ring.
      apply Rmult_le_compat; assumption.
    + replace (k * k' * (noisy (constant A) side x y * noisy_vector (constant A) side xs ys))
        with (k * noisy (constant A) side x y * (k' * noisy_vector (constant A) side xs ys)) by ring.
      apply Rmult_le_compat; assumption.
  - rewrite <- exp_plus. f_equal. rewrite plus_IZR. field. apply not_0_IZR; discriminate.
Qed.
