(** * Noise for vectors, at every eps and sensitivity

    [Noise.v] proves what a step of the grid costs, if A is small enough. This file models how grid.rs and discrete.rs
    find the grid and A, in integers, and proves that they fit: eps times the Euclidean distance, over the
    sensitivity. *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import List Arith.
Require Import Undertone.Integral Undertone.Weights Undertone.Steps Undertone.Private Undertone.Noise.
Import ListNotations.
Local Open Scope R_scope.
Opaque stored noise_weight.

(** ** The grid and the rate, for every eps and sensitivity *)

Local Open Scope Z_scope.

(** Delta^2 * m, in the units of the code: D counts 2^-32. *)
Definition left_side (m D : Z) : Z := D * D * m * 5 ^ 12.

(** [grid_exponent] with 2^3 steps, plus 29: how often [rest] can be divided by 4. The loop runs until it stops by
    itself; [fuel] only tells Coq that it does. *)
Fixpoint quarters (fuel : nat) (rest left : Z) : Z :=
  match fuel with
  | O => 0
  | S fuel => if left <=? rest then 1 + quarters fuel (rest / 4) left else 0
  end.
Definition grid_exponent (m E D : Z) : Z := -29 + quarters 64 (left_side m D / 4) (E * E).

(** [rate]: first down to 64 bits, then bit by bit. *)
Fixpoint shrink (fuel : nat) (left power : Z) : Z * Z :=
  match fuel with
  | O => (left, power)
  | S fuel => if 2 ^ 64 <=? left then shrink fuel (up left 4) (power - 1) else (left, power)
  end.
Fixpoint bits (n : nat) (rate left power micro : Z) : Z :=
  match n with
  | O => rate
  | S j =>
      let larger := rate + 2 ^ Z.of_nat j in
      if (larger * larger * left + (2 ^ (2 * power) - 1)) / 2 ^ (2 * power) <=? micro * micro
      then bits j larger left power micro else bits j rate left power micro
  end.
Definition rate (m E D k : Z) : Z := let (left, power) := shrink 64 (left_side m D) (k + 58) in bits 30 0 left power E.

Lemma quarters_spec fuel : forall rest left, 0 < left -> 0 <= rest < left * 4 ^ Z.of_nat fuel ->
  let j := quarters fuel rest left in
  0 <= j /\ (j = 0 \/ left * 4 ^ (j - 1) <= rest) /\ rest < left * 4 ^ j.
Proof.
  induction fuel as [|fuel IH]; intros rest left Hl Hr; cbn [quarters].
  { simpl in *. lia. }
  destruct (Z.leb_spec left rest) as [L|L]; [|simpl; lia].
  rewrite Nat2Z.inj_succ, Z.pow_succ_r in Hr by lia.
  pose proof (Z.div_mod rest 4 ltac:(lia)) as D. pose proof (Z.mod_pos_bound rest 4 ltac:(lia)) as M.
  destruct (IH (rest / 4) left Hl ltac:(lia)) as (J & H1 & H2). set (j := quarters fuel (rest / 4) left) in *.
  split; [lia|]. split.
  - right. replace (1 + j - 1) with j by ring. destruct H1 as [->|H1]; [simpl; lia|].
    destruct (Z.eq_dec j 0) as [->|n]; [simpl; lia|].
    replace j with (Z.succ (j - 1)) by ring. rewrite Z.pow_succ_r by lia. lia.
  - replace (1 + j) with (Z.succ j) by ring. rewrite Z.pow_succ_r by lia. lia.
Qed.

(** The grid has between 8 and 16 steps to the deviation. *)
Lemma grid_spec m E D : 1 <= m <= 2 ^ 10 -> 10 ^ 5 <= E <= 10 ^ 9 -> 2 ^ 20 <= D <= 2 ^ 44 ->
  let j := grid_exponent m E D + 29 in
  0 <= j /\ 4 ^ j * (E * E) <= left_side m D < 4 ^ (j + 1) * (E * E).
Proof.
  intros Hm HE HD. unfold grid_exponent. replace (-29 + quarters 64 (left_side m D / 4) (E * E) + 29)
    with (quarters 64 (left_side m D / 4) (E * E)) by ring.
  assert (B : 2 ^ 40 * 5 ^ 12 <= left_side m D <= 2 ^ 98 * 5 ^ 12) by (unfold left_side; nia).
  set (L := left_side m D) in *. clearbody L. pose proof (Z.div_mod L 4 ltac:(lia)) as Q.
  pose proof (Z.mod_pos_bound L 4 ltac:(lia)) as M.
  assert (E2 : 10 ^ 10 <= E * E <= 10 ^ 18) by nia.
  destruct (quarters_spec 64 (L / 4) (E * E) ltac:(lia)) as (J & H1 & H2).
  { split; [lia|]. change (4 ^ Z.of_nat 64) with (2 ^ 128). nia. }
  set (j := quarters 64 (L / 4) (E * E)) in *. clearbody j. split; [assumption|]. split.
  - destruct H1 as [->|H1]; [simpl; lia|]. destruct (Z.eq_dec j 0) as [->|n]; [simpl; lia|].
    replace j with (Z.succ (j - 1)) by ring. rewrite Z.pow_succ_r by lia. lia.
  - replace (j + 1) with (Z.succ j) by ring. rewrite Z.pow_succ_r by lia. lia.
Qed.

(** Fewer bits, rounded up: an excess of less than one. *)
Lemma shrink_spec fuel : forall left power, 2 ^ 62 <= left -> let (left', power') := shrink fuel left power in
  exists j, 0 <= j /\ power' = power - j /\ left <= left' * 4 ^ j /\ (left' - 1) * 4 ^ j < left /\ 2 ^ 62 <= left' /\
    (j = 0 -> left' = left).
Proof.
  induction fuel as [|fuel IH]; intros left power Hl; cbn [shrink].
  { exists 0. repeat split; try lia. }
  destruct (Z.leb_spec (2 ^ 64) left) as [L|L]; [|exists 0; repeat split; lia].
  assert (U : left <= up left 4 * 4 < left + 4).
  { split; [apply up_spec; [lia | apply Z.le_refl]|]. unfold up.
    pose proof (Z.mul_div_le (left + (4 - 1)) 4 ltac:(lia)). lia. }
  set (u := up left 4) in *. clearbody u. specialize (IH u (power - 1) ltac:(lia)).
  destruct (shrink fuel u (power - 1)) as [left' power']. destruct IH as (j & J & P & A & B & G & _).
  exists (Z.succ j). rewrite Z.pow_succ_r by lia. assert (0 < 4 ^ j) by (apply Z.pow_pos_nonneg; lia).
  repeat split; try lia; try nia.
Qed.

Lemma bits_spec n : forall rate left power micro, 0 <= rate -> 0 <= left -> 0 <= power ->
  let ok a := a * a * left <= micro * micro * 2 ^ (2 * power) in
  ok rate -> let r := bits n rate left power micro in
  ok r /\ rate <= r < rate + 2 ^ Z.of_nat n /\ (r + 1 = rate + 2 ^ Z.of_nat n \/ ~ ok (r + 1)).
Proof.
  induction n as [|n IH]; intros rate left power micro Hr Hl Hp ok Hok; cbn [bits].
  { simpl. repeat split; try lia; assumption. }
  rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. assert (T : 0 < 2 ^ Z.of_nat n) by (apply Z.pow_pos_nonneg; lia).
  set (t := 2 ^ Z.of_nat n) in *.
  assert (Q : 0 < 2 ^ (2 * power)) by (apply Z.pow_pos_nonneg; lia).
  assert (D : (((rate + t) * (rate + t) * left + (2 ^ (2 * power) - 1)) / 2 ^ (2 * power) <= micro * micro)
              <-> ok (rate + t)) by (apply up_spec; assumption).
  destruct (Z.leb_spec (((rate + t) * (rate + t) * left + (2 ^ (2 * power) - 1)) / 2 ^ (2 * power)) (micro * micro))
    as [L|L].
  - apply D in L. destruct (IH (rate + t) left power micro ltac:(lia) Hl Hp L) as (A & B & G).
    fold ok in A, G. fold t in B, G. split; [exact A|]. split; [lia|].
    destruct G as [G|G]; [left; lia | right; exact G].
  - assert (NL : ~ ok (rate + t)) by (rewrite <- D; lia).
    destruct (IH rate left power micro Hr Hl Hp Hok) as (A & B & G).
    fold ok in A, G. fold t in B, G. split; [exact A|]. split; [lia|].
    destruct G as [G|G]; [right; rewrite G; exact NL | right; exact G].
Qed.

(** What [rate] finds is small enough to be private, and hardly smaller. *)
Theorem rate_spec m E D : 1 <= m <= 2 ^ 10 -> 10 ^ 5 <= E <= 10 ^ 9 -> 2 ^ 20 <= D <= 2 ^ 44 ->
  let k := grid_exponent m E D in let A := rate m E D k in
  0 <= k + 58 /\ A * A * left_side m D <= E * E * 4 ^ (k + 58) /\ 2 ^ 28 - 1 <= A <= 2 ^ 29.
Proof.
  intros Hm HE HD k A. destruct (grid_spec m E D Hm HE HD) as (K & G1 & G2). fold k in K, G1, G2.
  assert (B : 2 ^ 62 <= left_side m D) by (unfold left_side; nia).
  unfold A, rate. set (L := left_side m D) in *. clearbody L.
  pose proof (shrink_spec 64 L (k + 58) B) as S. destruct (shrink 64 L (k + 58)) as [left power].
  destruct S as (j & J & P & S1 & S2 & S3 & S4).
  assert (E2 : 10 ^ 10 <= E * E <= 10 ^ 18) by nia.
  assert (W : 4 ^ (k + 58) = 4 ^ (k + 29) * 4 ^ 29) by (rewrite <- Z.pow_add_r by lia; f_equal; ring).
  assert (W1 : 4 ^ (k + 29 + 1) = 4 ^ (k + 29) * 4) by (rewrite Z.pow_add_r by lia; reflexivity). rewrite W1 in G2.
  set (e := E * E) in *. set (w := 4 ^ (k + 29)) in *.
  assert (Hj : 0 < 4 ^ j) by (apply Z.pow_pos_nonneg; lia).
  assert (Hw : 0 < w) by (apply Z.pow_pos_nonneg; lia).
  (* The power stays positive. *)
  assert (Pw : 0 <= power).
  { destruct (Z.le_gt_cases j (k + 58)) as [|O]; [lia|]. exfalso.
    assert (4 ^ (k + 58) <= 4 ^ j) by (apply Z.pow_le_mono_r; lia). rewrite W in *.
    assert ((2 ^ 62 - 1) * (w * 4 ^ 29) <= (left - 1) * 4 ^ j) by (apply Z.mul_le_mono_nonneg; lia).
    nia. }
  assert (V : 2 ^ (2 * power) * 4 ^ j = w * 4 ^ 29).
  { rewrite <- W. replace (2 ^ (2 * power)) with (4 ^ power) by (rewrite Z.pow_mul_r by lia; reflexivity).
    rewrite <- Z.pow_add_r by lia. f_equal. lia. }
  destruct (bits_spec 30 0 left power E ltac:(lia) ltac:(lia) Pw) as (H1 & H2 & H3); [simpl; nia|].
  set (a := bits 30 0 left power E) in *. clearbody a. fold e in H1, H3. change (2 ^ Z.of_nat 30) with (2 ^ 30) in *.
  set (q := 2 ^ (2 * power)) in *. clearbody q.
  assert (X : a * a * L <= e * (w * 4 ^ 29)).
  { apply Z.le_trans with (a * a * (left * 4 ^ j));
      [apply Z.mul_le_mono_nonneg_l; [apply Z.square_nonneg | assumption]|].
    rewrite <- V. nia. }
  split; [lia|]. rewrite W. fold w. split; [lia|]. split.
  - destruct (Z.le_gt_cases (2 ^ 28 - 1) a) as [|O]; [assumption|]. exfalso.
    destruct H3 as [H3|H3]; [lia|]. apply Z.nle_gt in H3.
    assert (Y : (a + 1) * (a + 1) <= (2 ^ 28 - 1) * (2 ^ 28 - 1)) by (apply Z.mul_le_mono_nonneg; lia).
    assert (Z1 : e * (w * 4 ^ 29) < (2 ^ 28 - 1) * (2 ^ 28 - 1) * (left * 4 ^ j)).
    { rewrite <- V. assert (e * q * 4 ^ j < (a + 1) * (a + 1) * left * 4 ^ j) by (apply Z.mul_lt_mono_pos_r; lia).
      assert ((a + 1) * (a + 1) * (left * 4 ^ j) <= (2 ^ 28 - 1) * (2 ^ 28 - 1) * (left * 4 ^ j))
        by (apply Z.mul_le_mono_nonneg_r; [apply Z.mul_nonneg_nonneg; lia | exact Y]).
      lia. }
    assert (Z2 : 4 ^ 28 * L < e * (w * 4 ^ 29)) by (replace (4 ^ 29) with (4 ^ 28 * 4) by reflexivity; nia).
    destruct (Z.eq_dec j 0) as [->|n].
    + rewrite (S4 eq_refl) in Z1. change (4 ^ 0) with 1 in Z1. lia.
    + assert (4 ^ 28 * ((left - 1) * 4 ^ j) < (2 ^ 28 - 1) * (2 ^ 28 - 1) * (left * 4 ^ j)) by lia.
      assert (4 ^ 28 * (left - 1) < (2 ^ 28 - 1) * (2 ^ 28 - 1) * left); [|lia].
      apply Z.mul_lt_mono_pos_r with (4 ^ j); [assumption|]. lia.
  - destruct (Z.le_gt_cases a (2 ^ 29)) as [|O]; [assumption|]. exfalso.
    assert (Y : (2 ^ 29 + 1) * (2 ^ 29 + 1) <= a * a) by (apply Z.mul_le_mono_nonneg; lia).
    assert ((2 ^ 29 + 1) * (2 ^ 29 + 1) * L <= a * a * L) by (apply Z.mul_le_mono_nonneg_r; lia).
    assert (w * e * 4 ^ 29 <= L * 4 ^ 29) by (apply Z.mul_le_mono_nonneg_r; lia). nia.
Qed.

(** ** The theorem *)

Local Open Scope R_scope.

(** The Euclidean distance of two vectors whose coordinates count 2^-40 of a step of the grid, which is 2^k. *)
Definition distance (k : Z) (xs xs' : list Z) : R := sqrt (IZR (squares xs xs')) * (IZR (2 ^ (k + 58)) / IZR (2 ^ 98)).

(** Delta, of which D counts 2^-32. *)
Definition sensitivity (D : Z) : R := IZR D / IZR (2 ^ 32).

(** Vectors of up to 1024 coordinates that lie in the box: eps times their distance, over the sensitivity. *)
Theorem noise_private m E D side xs xs' ys : (1 <= Z.of_nat m <= 2 ^ 10)%Z -> (10 ^ 5 <= E <= max_micro)%Z ->
  (2 ^ 20 <= D <= 2 ^ 44)%Z -> (2 ^ 12 <= side <= 2 ^ 21)%Z -> length xs = m -> length xs' = m ->
  in_box side xs -> in_box side xs' -> Forall (fun y => - side <= y <= side)%Z ys ->
  let k := grid_exponent (Z.of_nat m) E D in let C := constant (rate (Z.of_nat m) E D k) in
  near (exp (eps E * distance k xs xs' / sensitivity D)) (noisy_vector C side xs ys) (noisy_vector C side xs' ys).
Proof.
  intros Hm HE HD Hs L L' B B' By k C.
  destruct (rate_spec (Z.of_nat m) E D Hm HE HD) as (K & R1 & R2). fold k in K, R1, R2.
  set (A := rate (Z.of_nat m) E D k) in *.
  destruct (vector_private A side xs xs' ys R2 Hs ltac:(congruence) B B' By) as [V1 V2].
  assert (Q : step_cost A * (IZR (l1 xs xs') / IZR (2 ^ 40)) <= eps E * distance k xs xs' / sensitivity D).
  { destruct (cauchy xs xs' ltac:(congruence)) as [Q0 Q]. rewrite L in Q.
    assert (S0 : (0 <= squares xs xs')%Z) by nia.
    assert (H : (A * D * 10 ^ 6 * l1 xs xs' * (A * D * 10 ^ 6 * l1 xs xs')
                 <= E * 2 ^ 6 * 2 ^ (k + 58) * (E * 2 ^ 6 * 2 ^ (k + 58)) * squares xs xs')%Z).
    { unfold left_side in R1. replace (4 ^ (k + 58))%Z with (2 ^ (k + 58) * 2 ^ (k + 58))%Z in R1
        by (rewrite <- Z.pow_mul_l; reflexivity).
      set (p := (2 ^ (k + 58))%Z) in *. clearbody p. set (l := l1 xs xs') in *. set (q := squares xs xs') in *.
      clearbody l q A. set (n := Z.of_nat m) in *. clearbody n.
      apply Z.le_trans with (A * A * (D * D) * 10 ^ 12 * (n * q))%Z.
      - replace (A * D * 10 ^ 6 * l * (A * D * 10 ^ 6 * l))%Z with (A * A * (D * D) * 10 ^ 12 * (l * l))%Z by ring.
        apply Z.mul_le_mono_nonneg_l; [|assumption]. nia.
      - replace (A * A * (D * D) * 10 ^ 12 * (n * q))%Z with (A * A * (D * D * n * 5 ^ 12) * (2 ^ 12 * q))%Z by ring.
        replace (E * 2 ^ 6 * p * (E * 2 ^ 6 * p) * q)%Z with (E * E * (p * p) * (2 ^ 12 * q))%Z by ring.
        apply Z.mul_le_mono_nonneg_r; lia. }
    assert (Eu : IZR (A * D * 10 ^ 6 * l1 xs xs') = IZR (A * D * 10 ^ 6) * IZR (l1 xs xs')) by apply mult_IZR.
    assert (Ev : IZR (E * 2 ^ 6 * 2 ^ (k + 58)) = IZR (E * 2 ^ 6) * IZR (2 ^ (k + 58))) by apply mult_IZR.
    set (u' := (A * D * 10 ^ 6 * l1 xs xs')%Z) in *. set (v' := (E * 2 ^ 6 * 2 ^ (k + 58))%Z) in *. clearbody u' v'.
    apply IZR_le in H. rewrite !mult_IZR, Eu, Ev in H. clear u' v' Eu Ev.
    assert (D0 : 0 < IZR D) by (apply IZR_lt; lia).
    set (u := IZR (A * D * 10 ^ 6) * IZR (l1 xs xs')) in *.
    set (v := IZR (E * 2 ^ 6) * IZR (2 ^ (k + 58))) in *.
    assert (U : u <= v * sqrt (IZR (squares xs xs'))).
    { assert (V0 : 0 <= v).
      { unfold v. apply Rmult_le_pos; apply IZR_le; [lia | apply Z.pow_nonneg; lia]. }
      apply IZR_le in S0. apply Rsqr_incr_0_var; [|apply Rmult_le_pos; [assumption | apply sqrt_pos]].
      rewrite Rsqr_mult, Rsqr_sqrt by assumption. unfold Rsqr. lra. }
    unfold step_cost, eps, distance, sensitivity.
    assert (P : forall n, (0 < n)%Z -> 0 < IZR n) by (intros; apply IZR_lt; assumption).
    pose proof (P (2 ^ 32)%Z ltac:(reflexivity)). pose proof (P (2 ^ 40)%Z ltac:(reflexivity)).
    pose proof (P (2 ^ 98)%Z ltac:(reflexivity)).
    replace (IZR A / IZR (2 ^ 32) * (IZR (l1 xs xs') / IZR (2 ^ 40)))
      with (u / (IZR D * 1000000 * IZR (2 ^ 72))).
    - replace (IZR E / 1000000 * (sqrt (IZR (squares xs xs')) * (IZR (2 ^ (k + 58)) / IZR (2 ^ 98)))
          / (IZR D / IZR (2 ^ 32)))
        with (v * sqrt (IZR (squares xs xs')) / (IZR D * 1000000 * IZR (2 ^ 72))).
      + apply Rmult_le_compat_r; [|assumption]. left. apply Rinv_0_lt_compat.
        pose proof (P (2 ^ 72)%Z ltac:(reflexivity)). apply Rmult_lt_0_compat; [lra | assumption].
      + unfold v. rewrite mult_IZR.
        replace (IZR (2 ^ 98)) with (IZR (2 ^ 26) * IZR (2 ^ 72)) by (rewrite <- mult_IZR; reflexivity).
        replace (IZR (2 ^ 32)) with (IZR (2 ^ 26) * IZR (2 ^ 6)) by (rewrite <- mult_IZR; reflexivity).
        field. repeat split; try lra; apply not_0_IZR; discriminate.
    - unfold u. rewrite !mult_IZR.
      replace (IZR (2 ^ 72)) with (IZR (2 ^ 32) * IZR (2 ^ 40)) by (rewrite <- mult_IZR; reflexivity).
      replace (IZR (10 ^ 6)) with 1000000 by reflexivity. field. lra. }
  assert (G : exp (step_cost A * (IZR (l1 xs xs') / IZR (2 ^ 40))) <= exp (eps E * distance k xs xs' / sensitivity D)).
  { destruct Q as [Q|Q]; [left; apply exp_increasing; exact Q | rewrite Q; lra]. }
  pose proof (noisy_vector_nonneg A side xs ys) as N. pose proof (noisy_vector_nonneg A side xs' ys) as N'.
  unfold C. split; [apply Rle_trans with (1 := V1) | apply Rle_trans with (1 := V2)];
    (apply Rmult_le_compat_r; [assumption | exact G]).
Qed.
