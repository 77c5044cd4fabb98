(** * The constant C

    [Ratio::from_micro] multiplies, of 30 constants, those of the bits of eps, and rounds up every time. This file
    proves that C is never below 2^64 * e^(-eps/2) + 4, for every eps that a device can hold: not only for
    those that the tests try. eps is in micro-units. *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import List.
Require Import Undertone.Integral Undertone.Weights.
Local Open Scope Z_scope.

(** EXP_OF_BIT. [check.sh] compares it with core/src/select.rs. *)
Definition exp_of_bit : list Z :=
  0x7ffffbce42296a1decaf4316c005969e ::
  0x7ffff79c8476036db49482d6d2274bec ::
  0x7fffef390978c39e3969c79182b61014 ::
  0x7fffde7215247a22cf1f2e40425297f3 ::
  0x7fffbce43314beb7e9d36ef177b29022 ::
  0x7fff79c889589dffd74d6ffa8eb86238 ::
  0x7ffef3919f6d747689a0e4e042eb9816 ::
  0x7ffde72571c97c81004db6c7562488d9 ::
  0x7ffbce53af3ad5379593fe940a5ecb89 ::
  0x7ff79cca8c818c92114ab5312312c137 ::
  0x7fef3a21cc964dec37ce99aaef4eafd2 ::
  0x7fde76764298ee40b7fc69b4d1f530db ::
  0x7fbcf5b60400f34fc17c1c486b0d315c ::
  0x7f7a0e88ce496fc4047bef66e8f7128c ::
  0x7ef4a93b2fc9751dbf8366b601ccc953 ::
  0x7deb80d29779342f2b468b658707b6c7 ::
  0x7bdfa8e6d6c37463df0aaa814359fb50 ::
  0x77e15f6b07f388c7c4ecd0e311ac3eab ::
  0x70469a3cbe31ffcd1b284d911758042f ::
  0x627bb4dbb921ccd270de1865f0d659c8 ::
  0x4bc5e47f094f00737cc17abb0bd19a68 ::
  0x2cdb19b7cdd64af2a4bc5dd09add83af ::
  0x0fb818b863a28126d8941a0d0e70824c ::
  0x01ee2e924e3eb8741ba16ee3ac255477 ::
  0x000773ef8a3dc39783b212543947178b ::
  0x0000006f17354b6f33fa5d7a1263e314 ::
  0x000000000000606a44a4122ac173d62b ::
  0x000000000000000000000000489fbf30 ::
  0x00000000000000000000000000000001 ::
  0x00000000000000000000000000000001 :: nil.

(** multiply_up *)
Definition multiply_up (a b : Z) : Z := up (a * b) (2 ^ 127).

(** The loop over the bits, from the lowest on. *)
Fixpoint product (factors : list Z) (micro acc : Z) : Z :=
  match factors with
  | nil => acc
  | f :: fs => product fs (micro / 2) (if Z.odd micro then multiply_up acc f else acc)
  end.

(** C, with u64::MAX where the sum does not fit. *)
Definition of_product (p : Z) : Z := Z.min (2 ^ 64 - 1) (up p (2 ^ 63) + 4).

(** [Ratio::from_micro] *)
Definition from_micro (micro : Z) : Z := of_product (product exp_of_bit micro (2 ^ 127)).

Local Open Scope R_scope.

Lemma up_ge a b : (0 < b)%Z -> IZR a / IZR b <= IZR (up a b).
Proof.
  intros Hb. assert (H : (a <= up a b * b)%Z) by (apply up_spec; lia).
  apply IZR_le in H; rewrite mult_IZR in H. apply IZR_lt in Hb.
  apply Rmult_le_reg_r with (IZR b); [assumption|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** a / d is e^-x or more. For what the code holds, d is 2^127. *)
Definition above_exp (d : Z) (x : R) (a : Z) := exp (- x) <= IZR a / IZR d.

(** ** Rounded products of upper bounds are upper bounds *)

Lemma product_up d m a b x y : (0 < d)%Z -> (0 < m)%Z ->
  above_exp d x a -> above_exp (d * m) y b -> above_exp d (x + y) (up (a * b) (d * m)).
Proof.
  intros Hd Hm A B. unfold above_exp in *.
  pose proof (exp_pos (- x)); pose proof (exp_pos (- y)).
  pose proof (up_ge (a * b) (d * m) ltac:(nia)) as U.
  rewrite mult_IZR in U. rewrite Ropp_plus_distr, exp_plus.
  apply Rle_trans with (IZR a / IZR d * (IZR b / IZR (d * m))); [apply Rmult_le_compat; lra|].
  apply IZR_lt in Hd. replace (IZR a / IZR d * (IZR b / IZR (d * m)))
    with (IZR a * IZR b / IZR (d * m) * / IZR d) by (unfold Rdiv; ring).
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; assumption | exact U].
Qed.

Lemma square_up d a b x y : (0 < d)%Z ->
  above_exp d x a -> above_exp d y b -> above_exp d (x + y) (up (a * b) d).
Proof.
  intros Hd A B. pose proof (product_up d 1 a b x y Hd ltac:(lia)) as P.
  rewrite Z.mul_1_r in P. apply P; assumption.
Qed.

(** Constant number b is at least 2^127 * e^-(2^b * x). *)
Fixpoint table_above (x : R) (factors : list Z) : Prop :=
  match factors with
  | nil => True
  | f :: fs => above_exp (2 ^ 127) x f /\ table_above (2 * x) fs
  end.

Lemma product_above fs : forall x micro acc y, table_above x fs ->
  (0 <= micro < 2 ^ Z.of_nat (length fs))%Z -> above_exp (2 ^ 127) y acc ->
  above_exp (2 ^ 127) (y + IZR micro * x) (product fs micro acc).
Proof.
  induction fs as [|f fs IH]; intros x micro acc y T Hm Ha.
  - simpl in Hm. assert (micro = 0)%Z as -> by lia. rewrite Rmult_0_l, Rplus_0_r. exact Ha.
  - destruct T as [T1 T2].
    assert (Hl : (2 ^ Z.of_nat (length (f :: fs)) = 2 * 2 ^ Z.of_nat (length fs))%Z).
    { cbn [length]. rewrite Nat2Z.inj_succ, Z.pow_succ_r; lia. }
    pose proof (Z.div2_odd micro) as Hd. rewrite Z.div2_div in Hd.
    assert (Hr : (0 <= micro / 2 < 2 ^ Z.of_nat (length fs))%Z).
    { split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia]. }
    cbn [product]. destruct (Z.odd micro).
    + replace (y + IZR micro * x) with ((y + x) + IZR (micro / 2) * (2 * x)).
      * apply IH; [assumption | assumption | apply square_up; [reflexivity | assumption | assumption]].
      * rewrite Hd at 2. rewrite plus_IZR, mult_IZR. simpl Z.b2z. ring.
    + replace (y + IZR micro * x) with (y + IZR (micro / 2) * (2 * x)).
      * apply IH; assumption.
      * rewrite Hd at 2. rewrite plus_IZR, mult_IZR. simpl Z.b2z. ring.
Qed.

(** ** The 30 constants

    Repeated squaring with 400 bits, rounded up, from a bound on the first. *)

Fixpoint squares_below (u : Z) (factors : list Z) : bool :=
  match factors with
  | nil => true
  | f :: fs => ((u <=? f * 2 ^ 273) && squares_below (up (u * u) (2 ^ 400)) fs)%bool%Z
  end.

Lemma scale_400 f x u : above_exp (2 ^ 400) x u -> (u <= f * 2 ^ 273)%Z -> above_exp (2 ^ 127) x f.
Proof.
  unfold above_exp; intros A H. apply Rle_trans with (1 := A). apply IZR_le in H; rewrite mult_IZR in H.
  assert (P : 0 < IZR (2 ^ 127)) by (apply IZR_lt; reflexivity).
  assert (Q : 0 < IZR (2 ^ 273)) by (apply IZR_lt; reflexivity).
  replace (2 ^ 400)%Z with (2 ^ 127 * 2 ^ 273)%Z by reflexivity. rewrite mult_IZR.
  set (a := IZR (2 ^ 127)) in *; set (b := IZR (2 ^ 273)) in *; clearbody a b.
  apply Rmult_le_reg_r with (a * b); [nra|].
  replace (IZR u / (a * b) * (a * b)) with (IZR u) by (field; lra).
  replace (IZR f / a * (a * b)) with (IZR f * b) by (field; lra). exact H.
Qed.

Lemma squares_sound fs : forall u x, above_exp (2 ^ 400) x u -> squares_below u fs = true -> table_above x fs.
Proof.
  induction fs as [|f fs IH]; intros u x Hu Hc; cbn [table_above]; [exact I|].
  cbn [squares_below] in Hc. apply andb_prop in Hc as [C1 C2]. apply Z.leb_le in C1. split.
  - apply scale_400 with u; assumption.
  - apply (IH (up (u * u) (2 ^ 400))); [|exact C2].
    replace (2 * x) with (x + x) by ring. apply square_up; [reflexivity | assumption | assumption].
Qed.

(** e^x is at least any partial sum of its series; the sum of 21 terms at 1 / 2 000 000, as a fraction. *)
Lemma exp_partial x n : 0 <= x -> sum_f_R0 (fun i => / INR (fact i) * x ^ i) n <= exp x.
Proof.
  intros Hx. unfold exp. destruct (exist_exp x) as [l Hl]; simpl.
  apply sum_incr; [exact Hl|]. intros i. apply Rmult_le_pos.
  - left; apply Rinv_0_lt_compat, INR_fact_lt_0.
  - apply pow_le; assumption.
Qed.

Definition unit_ : Z := 2000000.
Fixpoint numerator (n : nat) : Z :=
  match n with O => 1 | S m => (numerator m * (Z.of_nat (S m) * unit_) + 1)%Z end.
Fixpoint denominator (n : nat) : Z :=
  match n with O => 1 | S m => (denominator m * (Z.of_nat (S m) * unit_))%Z end.

Lemma unit_nz : IZR unit_ <> 0. Proof. apply not_0_IZR; discriminate. Qed.

Lemma denominator_pos n : (0 < denominator n)%Z.
Proof. induction n; cbn [denominator]; [lia|]. unfold unit_; nia. Qed.

Lemma denominator_val n : / IZR (denominator n) = / INR (fact n) * (/ IZR unit_) ^ n.
Proof.
  induction n as [|n IH]; [simpl; rewrite Rinv_1; ring|].
  change (fact (S n)) with (S n * fact n)%nat. cbn [denominator].
  rewrite !mult_IZR, mult_INR, <- INR_IZR_INZ.
  assert (IZR (denominator n) <> 0) by (apply not_0_IZR; pose proof (denominator_pos n); lia).
  assert (INR (S n) <> 0) by (apply not_0_INR; lia).
  pose proof (INR_fact_neq_0 n). pose proof unit_nz.
  rewrite !Rinv_mult.
  rewrite IH. simpl pow. ring.
Qed.

Lemma numerator_val n :
  IZR (numerator n) / IZR (denominator n) = sum_f_R0 (fun i => / INR (fact i) * (/ IZR unit_) ^ i) n.
Proof.
  induction n as [|n IH]; [simpl; field|].
  rewrite tech5, <- IH, <- denominator_val. cbn [numerator denominator]. rewrite plus_IZR, !mult_IZR.
  assert (IZR (denominator n) <> 0) by (apply not_0_IZR; pose proof (denominator_pos n); lia).
  assert (IZR (Z.of_nat (S n)) <> 0) by (apply not_0_IZR; lia).
  pose proof unit_nz. field; repeat split; assumption.
Qed.

Lemma inverse_up n d q e : (0 < n)%Z -> (0 < d)%Z -> (0 < q)%Z ->
  IZR n / IZR d <= exp e -> above_exp q e (up (d * q) n).
Proof.
  intros Nn Dn P L. unfold above_exp; rewrite exp_Ropp.
  pose proof (up_ge (d * q) n Nn) as U. rewrite mult_IZR in U. apply IZR_lt in Nn, Dn, P.
  apply Rle_trans with (/ (IZR n / IZR d)).
  - apply Rinv_le_contravar; [apply Rdiv_lt_0_compat; assumption | exact L].
  - apply Rmult_le_reg_r with (IZR q); [assumption|].
    replace (IZR (up (d * q) n) / IZR q * IZR q) with (IZR (up (d * q) n)) by (field; lra).
    replace (/ (IZR n / IZR d) * IZR q) with (IZR d * IZR q / IZR n) by (field; lra).
    exact U.
Qed.

Definition first_square : Z := up (denominator 20 * 2 ^ 400) (numerator 20).

Lemma first_above : above_exp (2 ^ 400) (/ IZR unit_) first_square.
Proof.
  apply inverse_up; [vm_compute; reflexivity | apply denominator_pos | reflexivity |].
  rewrite numerator_val. apply exp_partial.
  left; apply Rinv_0_lt_compat, IZR_lt; reflexivity.
Qed.

(** All 30 constants are above what they stand for. *)
Theorem constants_above : table_above (/ IZR unit_) exp_of_bit.
Proof. apply (squares_sound _ first_square); [apply first_above | vm_compute; reflexivity]. Qed.

(** ** C *)

Lemma of_product_above p y : above_exp (2 ^ 127) y p -> (of_product p < two64 - 1)%Z ->
  IZR two64 * exp (- y) + 4 <= IZR (of_product p).
Proof.
  unfold above_exp, of_product; intros A Hc. change (2 ^ 64 - 1)%Z with (two64 - 1)%Z in *.
  rewrite Z.min_r by lia. rewrite plus_IZR. apply Rplus_le_compat_r.
  apply Rle_trans with (2 := up_ge p (2 ^ 63) ltac:(reflexivity)).
  assert (P : 0 < IZR two64) by (apply IZR_lt; reflexivity).
  assert (Q : 0 < IZR (2 ^ 63)) by (apply IZR_lt; reflexivity).
  replace (2 ^ 127)%Z with (two64 * 2 ^ 63)%Z in A by reflexivity. rewrite mult_IZR in A.
  set (a := IZR two64) in *; set (b := IZR (2 ^ 63)) in *; clearbody a b.
  apply Rle_trans with (a * (IZR p / (a * b))); [apply Rmult_le_compat_l; lra|].
  right; field; lra.
Qed.

(* Else a check of types would try all 2^30 products. *)
Opaque product.

(** For every eps of up to 2^30 - 1 micro-units, C is at least 2^64 * e^(-eps/2) + 4, or C is 2^64 - 1, the
    largest number of 64 bits. *)
Theorem constant_above micro : (0 <= micro < 2 ^ 30)%Z -> (from_micro micro < two64 - 1)%Z ->
  IZR two64 * exp (- (IZR micro / 1000000 / 2)) + 4 <= IZR (from_micro micro).
Proof.
  intros Hm Hc.
  replace (- (IZR micro / 1000000 / 2)) with (- (0 + IZR micro * / IZR unit_)) by (unfold unit_; field).
  apply of_product_above; [|exact Hc].
  apply product_above; [exact constants_above | exact Hm |].
  unfold above_exp. rewrite Ropp_0, exp_0. unfold Rdiv; rewrite Rinv_r; [lra|].
  apply not_0_IZR; discriminate.
Qed.

(** C is a positive number of 64 bits. *)
Theorem constant_range micro : (0 < from_micro micro < two64)%Z.
Proof.
  assert (P : forall fs m acc, (0 <= acc)%Z -> forallb (Z.leb 0) fs = true -> (0 <= product fs m acc)%Z).
  { Transparent product.
    induction fs as [|f fs IH]; intros m acc Ha Hf; [exact Ha|]. cbn [forallb] in Hf.
    apply andb_prop in Hf as [Hf Hfs]. apply Z.leb_le in Hf.
    cbn [product]. apply IH; [|assumption]. destruct (Z.odd m); [|assumption].
    unfold multiply_up, up. set (d := (2 ^ 127)%Z). assert (0 < d)%Z by reflexivity. clearbody d.
    apply Z.div_pos; nia. }
  Opaque product.
  specialize (P exp_of_bit micro (2 ^ 127)%Z ltac:(discriminate) eq_refl).
  unfold from_micro, of_product. change (2 ^ 64 - 1)%Z with (two64 - 1)%Z.
  set (p := product _ _ _) in *; clearbody p.
  assert (0 <= up p (2 ^ 63))%Z by (apply Z.div_pos; [|reflexivity]; assert (0 < 2 ^ 63)%Z by reflexivity; lia).
  assert (5 < two64)%Z by reflexivity. lia.
Qed.

(** Known answers: eps = 0.1, 1, 3, 6, 10 and 23, as computed by tests/tests/constants.rs; 0 gives 2^64 - 1. *)
Example known_constants :
  map from_micro (100000 :: 1000000 :: 3000000 :: 6000000 :: 10000000 :: 23000000 :: 0 :: nil)%Z =
  (0xf383c58539352f87 :: 0x9b4597e37cb04ff8 :: 0x391f0ee496b83acd :: 0x0cbed86667585769 ::
   0x01b993fe00d53766 :: 0x0000a9f46bb3c05d :: 0xffffffffffffffff :: nil)%Z.
Proof. vm_compute; reflexivity. Qed.
