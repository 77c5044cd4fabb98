(** * Hyperplanes of a projective space

    The points of projective.rs are lines through the origin of F_q^t, q a prime; outcome v prefers the points w with
    <v, w> = 0. This file proves that an index, inside or outside, names each point exactly once; Points.v then gives
    the promise. *)
Require Import Reals Lra Lia ZArith Znumtheory Psatz.
Require Import List Arith.
Require Import Undertone.Integral Undertone.Coins Undertone.Weights Undertone.Constant Undertone.Draws.
Require Import Undertone.Steps Undertone.Select Undertone.Private Undertone.WholeText Undertone.Points.
Import ListNotations.
Local Open Scope Z_scope.

Section Geometry.
(** The order, a prime, and [Modulus::inverse], of which tests check what is assumed here. *)
Variable q : Z.
Hypothesis Hq : prime q.
Variable inverse : Z -> Z.
Hypothesis inverse_spec : forall x, 0 < x < q -> (x * inverse x) mod q = 1.

(** ** Vectors *)

Definition in_field (l : list Z) := Forall (fun x => 0 <= x < q) l.
Definition scale (k : Z) (l : list Z) : list Z := map (fun x => (k * x) mod q) l.

Fixpoint dot (v w : list Z) : Z :=
  match v, w with x :: v, y :: w => x * y + dot v w | _, _ => 0 end.

(** The leading coordinate: the last that is not 0, as the code keeps the last coordinate first. And its place. *)
Fixpoint lead (l : list Z) : Z :=
  match l with nil => 0 | x :: l => if lead l =? 0 then x else lead l end.
Fixpoint place (l : list Z) : nat :=
  match l with nil => O | x :: l => if lead l =? 0 then O else S (place l) end.

Definition canonical (t : nat) (l : list Z) := length l = t /\ in_field l /\ lead l = 1.

(** ** Numbers *)

(** The points of so many coordinates: (q^m - 1) / (q - 1). *)
Fixpoint points (m : nat) : Z := match m with O => 0 | S m => 1 + q * points m end.

(** The canonical vector with this number, and the vector with these digits. *)
Fixpoint vector (t : nat) (n : Z) : list Z :=
  match t with
  | O => nil
  | S t => if n =? 0 then 1 :: repeat 0 t else (n - 1) mod q :: vector t ((n - 1) / q)
  end.
Fixpoint digits (t : nat) (n : Z) : list Z :=
  match t with O => nil | S t => n mod q :: digits t (n / q) end.

(** [Hyperplanes::vector] as written: a loop finds the last place whose first number is not above this one, and 1 is
    added to the digits of the rest there. [coded_vector] proves that both are the same. *)
Fixpoint seek (steps at_ : nat) (first power n base : Z) (place : nat) : Z * nat :=
  match steps with
  | O => (base, place)
  | S steps => seek steps (S at_) (first + power) (power * q) n
      (if first <=? n then first else base) (if first <=? n then at_ else place)
  end.
Fixpoint add_one (place : nat) (l : list Z) : list Z :=
  match l, place with
  | nil, _ => nil
  | x :: l, O => x + 1 :: l
  | x :: l, S place => x :: add_one place l
  end.
Definition coded (t : nat) (n : Z) : list Z :=
  let found := seek t 0 0 1 n 0 0 in add_one (snd found) (digits t (n - fst found)).

(** The number of the point that a vector lies on; [coded_number_canonical] is about that of the code. *)
Fixpoint canonical_number (l : list Z) : Z :=
  match l with nil => 0 | x :: l => if lead l =? 0 then 0 else 1 + x + q * canonical_number l end.
Definition normalise (l : list Z) : list Z := scale (inverse (lead l)) l.
Definition number (l : list Z) : Z := canonical_number (normalise l).

(** [Hyperplanes::point]: the index, as a vector of one coordinate less, beside the place of v's leading one, where
    what makes the product 0 (inside) or 1 goes. *)
Definition insert (j : nat) (x : Z) (u : list Z) : list Z := firstn j u ++ x :: skipn j u.
Definition point (t : nat) (outcome : Z) (inside : bool) (index : Z) : Z :=
  let v := vector t outcome in
  let j := place v in
  let u := if inside then vector (t - 1) index else digits (t - 1) index in
  let own := ((if inside then 0 else 1) - dot (firstn j v) (firstn j u)) mod q in
  number (insert j own u).

(** ** Arithmetic modulo q *)

Lemma q_ge_2 : 2 <= q. Proof. destruct Hq; lia. Qed.

Lemma product_zero k x : k mod q <> 0 -> 0 <= x < q -> (k * x) mod q = 0 -> x = 0.
Proof.
  intros Hk Hx H. pose proof q_ge_2. apply Z.mod_divide in H; [|lia]. apply prime_mult in H; [|exact Hq].
  destruct H as [H|H]; [apply Z.mod_divide in H; [contradiction | lia]|].
  destruct (Z.eq_dec x 0); [assumption|]. exfalso. apply Z.divide_pos_le in H; lia.
Qed.

Lemma in_field_scale k l : in_field (scale k l).
Proof. apply Forall_map, Forall_forall. intros; apply Z.mod_pos_bound; pose proof q_ge_2; lia. Qed.

Lemma lead_range l : in_field l -> 0 <= lead l < q.
Proof.
  pose proof q_ge_2 as Q2. induction 1 as [|x l Hx H IH]; cbn [lead]; [lia|]. destruct (lead l =? 0); lia.
Qed.

Lemma lead_scale k l : k mod q <> 0 -> in_field l -> lead (scale k l) = (k * lead l) mod q.
Proof.
  intros Hk. induction 1 as [|x l Hx H IH]; [cbn; rewrite Z.mul_0_r; reflexivity|].
  cbn [scale map lead]. fold (scale k l). rewrite IH. pose proof (lead_range l H) as R.
  destruct (Z.eqb_spec (lead l) 0) as [e|n].
  - rewrite e, Z.mul_0_r, Z.mod_0_l by (pose proof q_ge_2; lia). reflexivity.
  - destruct (Z.eqb_spec ((k * lead l) mod q) 0) as [e|]; [|reflexivity].
    apply product_zero in e; [contradiction | assumption | assumption].
Qed.

Lemma lead_0 l : lead l = 0 -> l = repeat 0 (length l).
Proof.
  induction l as [|x l IH]; cbn [lead length repeat]; [reflexivity|].
  destruct (Z.eqb_spec (lead l) 0) as [e|n]; intros H; [rewrite <- IH by assumption; congruence | contradiction].
Qed.

Lemma dot_zeros n w : dot (repeat 0 n) w = 0.
Proof. revert w; induction n; intros [|y w]; simpl; try reflexivity. rewrite IHn; lia. Qed.

Lemma dot_zeros_r v n : dot v (repeat 0 n) = 0.
Proof. revert n; induction v; intros [|n]; simpl; try reflexivity. rewrite IHv; lia. Qed.

Lemma dot_scale k v : forall w, dot v (scale k w) mod q = (k * dot v w) mod q.
Proof.
  induction v as [|x v IH]; intros [|y w]; cbn [scale map dot]; try (rewrite Z.mul_0_r; reflexivity).
  fold (scale k w). rewrite Z.add_mod, IH by (pose proof q_ge_2; lia).
  rewrite Z.mul_mod_idemp_r, <- Z.add_mod by (pose proof q_ge_2; lia). f_equal; ring.
Qed.

Lemma scale_scale a b l : scale a (scale b l) = scale (a * b) l.
Proof.
  unfold scale. rewrite map_map. apply map_ext. intros x.
  rewrite Z.mul_mod_idemp_r by (pose proof q_ge_2; lia). f_equal; ring.
Qed.

Lemma scale_1 k l : k mod q = 1 -> in_field l -> scale k l = l.
Proof.
  intros Hk. induction 1 as [|x l Hx H IH]; [reflexivity|]. cbn [scale map]. fold (scale k l). rewrite IH. f_equal.
  rewrite <- Z.mul_mod_idemp_l, Hk, Z.mul_1_l by (pose proof q_ge_2; lia). apply Z.mod_small; assumption.
Qed.

Lemma inverse_nonzero x : 0 < x < q -> inverse x mod q <> 0.
Proof.
  intros Hx H. pose proof (inverse_spec x Hx) as S. rewrite <- Z.mul_mod_idemp_r, H in S by lia.
  rewrite Z.mul_0_r, Z.mod_0_l in S by lia. discriminate.
Qed.

Lemma inverse_mod k : k mod q <> 0 -> (inverse (k mod q) * k) mod q = 1.
Proof.
  intros Hk. pose proof q_ge_2. pose proof (Z.mod_pos_bound k q ltac:(lia)).
  rewrite <- (inverse_spec (k mod q)) by lia. rewrite (Z.mul_comm (k mod q)), Z.mul_mod_idemp_r by lia. reflexivity.
Qed.

(** The canonical vector of a multiple of a canonical vector is that one. *)
Lemma normalise_scaled t k w : canonical t w -> k mod q <> 0 -> normalise (scale k w) = w.
Proof.
  intros (_ & F & L) Hk. unfold normalise. rewrite lead_scale, L, Z.mul_1_r, scale_scale by assumption.
  apply scale_1; [apply inverse_mod; assumption | assumption].
Qed.

Lemma normalise_canonical l : in_field l -> lead l <> 0 -> canonical (length l) (normalise l).
Proof.
  intros F N. pose proof (lead_range l F). unfold normalise. repeat split.
  - apply map_length.
  - apply in_field_scale.
  - rewrite lead_scale, Z.mul_comm by (try apply inverse_nonzero; assumption || lia). apply inverse_spec; lia.
Qed.

(** ** Every canonical vector has one number, and every vector one number by its digits *)

Lemma points_nonneg m : 0 <= points m.
Proof. pose proof q_ge_2. induction m; cbn [points]; nia. Qed.

Lemma zeros_lead n : lead (repeat 0 n) = 0.
Proof. induction n; cbn [repeat lead]; [reflexivity|]. rewrite IHn; reflexivity. Qed.

Lemma zeros_in_field n : in_field (repeat 0 n).
Proof. apply Forall_forall. intros x I. apply repeat_spec in I. pose proof q_ge_2; lia. Qed.

Lemma vector_canonical t : forall n, 0 <= n < points t ->
  canonical t (vector t n) /\ canonical_number (vector t n) = n.
Proof.
  pose proof q_ge_2 as Q2. induction t as [|t IH]; intros n Hn; cbn [points] in Hn; [lia|]. cbn [vector].
  destruct (Z.eqb_spec n 0) as [->|N].
  - unfold canonical; cbn [length lead canonical_number]. rewrite zeros_lead, repeat_length. cbn [Z.eqb].
    repeat split. constructor; [lia | apply zeros_in_field].
  - pose proof (Z.div_mod (n - 1) q ltac:(lia)). pose proof (Z.mod_pos_bound (n - 1) q ltac:(lia)).
    destruct (IH ((n - 1) / q)) as [(L & F & E) I].
    { split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia]. }
    unfold canonical; cbn [length lead canonical_number]. rewrite E. cbn [Z.eqb].
    repeat split; [lia | constructor; assumption | lia].
Qed.

Lemma number_of_canonical t : forall w, canonical t w ->
  0 <= canonical_number w < points t /\ vector t (canonical_number w) = w.
Proof.
  pose proof q_ge_2 as Q2. induction t as [|t IH]; intros w (L & F & E).
  - destruct w; [simpl in E; discriminate | discriminate].
  - destruct w as [|x w]; [discriminate|]. inversion F; subst. cbn [lead canonical_number] in *.
    destruct (Z.eqb_spec (lead w) 0) as [e|n].
    + split; [cbn [points]; pose proof (points_nonneg t); lia|]. cbn [vector Z.eqb]. subst x. f_equal.
      rewrite (lead_0 w e). f_equal. simpl in L; lia.
    + destruct (IH w) as [R V]; [repeat split; [simpl in L; lia | assumption | assumption]|].
      split; [cbn [points]; nia|]. cbn [vector].
      destruct (Z.eqb_spec (1 + x + q * canonical_number w) 0) as [e|_]; [nia|].
      replace (1 + x + q * canonical_number w - 1) with (x + canonical_number w * q) by ring.
      rewrite Z.mod_add, Z.div_add, Z.mod_small, Z.div_small, Z.add_0_l, V by lia. reflexivity.
Qed.

Lemma points_step m : points (S m) = points m + q ^ Z.of_nat m.
Proof.
  induction m as [|m IH]; [cbn [points]; simpl (q ^ _); ring|].
  rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. cbn [points] in *. nia.
Qed.

(** The loop finds place m with points m <= n < points (m + 1). *)
Lemma seek_spec n : 0 <= n -> forall steps m base place, (0 < steps)%nat -> points m <= n < points (m + steps) ->
  let found := seek steps m (points m) (q ^ Z.of_nat m) n base place in
  fst found = points (snd found) /\ points (snd found) <= n < points (S (snd found)).
Proof.
  intros N. pose proof q_ge_2 as Q2.
  assert (Up : forall a b, points a <= points (a + b)).
  { intros a b; induction b; [rewrite Nat.add_0_r; lia|]. rewrite Nat.add_succ_r, points_step.
    pose proof (Z.pow_nonneg q (Z.of_nat (a + b))). lia. }
  assert (Late : forall steps m base place, n < points m ->
    seek steps m (points m) (q ^ Z.of_nat m) n base place = (base, place)).
  { induction steps as [|steps IH]; intros m base place H; [reflexivity|]. cbn [seek].
    destruct (Z.leb_spec (points m) n); [lia|]. pose proof (Up m 1%nat) as U. rewrite Nat.add_1_r in U.
    rewrite Z.mul_comm, <- Z.pow_succ_r, <- Nat2Z.inj_succ, <- points_step by lia. apply IH. lia. }
  induction steps as [|steps IH]; intros m base place S0 H; [lia|]. cbn [seek].
  destruct (Z.leb_spec (points m) n); [|lia].
  rewrite (Z.mul_comm (q ^ _)), <- Z.pow_succ_r, <- Nat2Z.inj_succ, <- points_step by lia.
  destruct (Z.lt_ge_cases n (points (S m))) as [L|L]; [rewrite Late by assumption; cbn [fst snd]; lia|].
  destruct steps as [|steps]; [rewrite Nat.add_1_r in H; lia|].
  apply IH; [lia|]. rewrite <- Nat.add_succ_comm in H. lia.
Qed.

Lemma digits_0 t : digits t 0 = repeat 0 t.
Proof.
  pose proof q_ge_2 as Q2. induction t; [reflexivity|].
  cbn [digits repeat]. rewrite Z.mod_0_l, Z.div_0_l, IHt by lia. reflexivity.
Qed.

Theorem coded_vector t n : 0 <= n < points t -> coded t n = vector t n.
Proof.
  intros Hn. pose proof q_ge_2 as Q2. unfold coded.
  destruct t as [|t]; [cbn [points] in Hn; lia|].
  pose proof (seek_spec n ltac:(lia) (S t) O 0 O ltac:(lia)) as S1. cbn [points Nat.add] in S1.
  specialize (S1 ltac:(cbn [points] in Hn; lia)). change (q ^ Z.of_nat 0) with 1 in S1.
  cbv zeta in S1. destruct (seek (S t) 0 0 1 n 0 0) as [base m]. cbn [fst snd] in *. destruct S1 as [-> Hm].
  clear Hn. revert n m Hm. generalize (S t). clear t.
  intros t; induction t as [|t IH]; intros n m Hm; [destruct m; reflexivity|]. cbn [digits vector].
  destruct (Z.eqb_spec n 0) as [->|N].
  - destruct m as [|m]; [|cbn [points] in Hm; pose proof (points_nonneg m); nia].
    cbn [points add_one]. rewrite Z.sub_0_r, Z.mod_0_l, Z.div_0_l, digits_0 by lia. reflexivity.
  - destruct m as [|m]; [cbn [points] in Hm; lia|]. cbn [add_one].
    replace (n - points (S m)) with (n - 1 + - points m * q) by (cbn [points]; ring).
    rewrite Z.mod_add, Z.div_add by lia. f_equal.
    replace ((n - 1) / q + - points m) with ((n - 1) / q - points m) by ring. apply IH.
    assert (A : 1 + q * points m <= n) by exact (proj1 Hm).
    assert (B : n < 1 + q * points (S m)) by exact (proj2 Hm). clear Hm. cbn [points] in B.
    split; [apply Z.div_le_lower_bound; lia | apply Z.div_lt_upper_bound; lia].
Qed.

Fixpoint value (l : list Z) : Z := match l with nil => 0 | x :: l => x + q * value l end.

Lemma value_zeros n : value (repeat 0 n) = 0.
Proof. induction n as [|n IH]; cbn [repeat value]; [reflexivity | rewrite IH; ring]. Qed.

(** [Hyperplanes::number] as written: the digits, corrected at the leading one, which is none. *)
Definition coded_number (l : list Z) : Z := value l + (points (place l) - q ^ Z.of_nat (place l)).

Theorem coded_number_canonical l : lead l = 1 -> coded_number l = canonical_number l.
Proof.
  unfold coded_number. induction l as [|x l IH]; cbn [lead place canonical_number value]; [discriminate|].
  destruct (Z.eqb_spec (lead l) 0) as [e|n]; intros H.
  - rewrite (lead_0 l e), value_zeros, H. cbn [points]. simpl (q ^ _). ring.
  - specialize (IH H). cbn [points]. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. rewrite <- IH. ring.
Qed.

Lemma digits_spec t : forall n, 0 <= n < q ^ Z.of_nat t ->
  length (digits t n) = t /\ in_field (digits t n) /\ value (digits t n) = n.
Proof.
  pose proof q_ge_2 as Q2. induction t as [|t IH]; intros n Hn; [simpl in *; repeat split; [constructor | lia]|].
  rewrite Nat2Z.inj_succ, Z.pow_succ_r in Hn by lia.
  pose proof (Z.div_mod n q ltac:(lia)). pose proof (Z.mod_pos_bound n q ltac:(lia)).
  destruct (IH (n / q)) as (L & F & V); [split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia]|].
  cbn [digits length value]. repeat split; [lia | constructor; assumption | lia].
Qed.

Lemma digits_value l : in_field l ->
  0 <= value l < q ^ Z.of_nat (length l) /\ digits (length l) (value l) = l.
Proof.
  pose proof q_ge_2 as Q2. induction 1 as [|x l Hx F [R D]]; [cbn; split; [lia | reflexivity]|].
  cbn [length value digits]. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. split; [nia|].
  replace (x + q * value l) with (x + value l * q) by ring.
  rewrite Z.mod_add, Z.div_add, Z.mod_small, Z.div_small, Z.add_0_l, D by lia. reflexivity.
Qed.

(** ** A coordinate put in and taken out *)

Definition remove (j : nat) (w : list Z) : list Z := firstn j w ++ skipn (S j) w.

Lemma insert_len j x u : length (insert j x u) = S (length u).
Proof.
  unfold insert. rewrite app_length. cbn [length]. rewrite <- plus_n_Sm, <- app_length, firstn_skipn. reflexivity.
Qed.

Lemma insert_in_field j x u : in_field u -> 0 <= x < q -> in_field (insert j x u).
Proof.
  intros F Hx. unfold insert. rewrite <- (firstn_skipn j u) in F. apply Forall_app in F as [A B].
  apply Forall_app; split; [assumption | constructor; assumption].
Qed.

Lemma remove_insert x u : forall j, (j <= length u)%nat -> remove j (insert j x u) = u.
Proof.
  induction u as [|y u IH]; intros [|j] H; cbn in *; try reflexivity; try lia.
  f_equal. apply IH; lia.
Qed.

Lemma insert_remove w : forall j, (j < length w)%nat -> insert j (nth j w 0) (remove j w) = w.
Proof.
  induction w as [|y w IH]; intros [|j] H; cbn in *; try reflexivity; try lia.
  f_equal. apply IH; lia.
Qed.

Lemma firstn_zeros n : forall m, firstn m (repeat 0 n) = repeat 0 (Nat.min m n).
Proof. induction n; intros [|m]; simpl; f_equal; auto. Qed.

Lemma insert_zeros n : forall j, (j <= n)%nat -> insert j 0 (repeat 0 n) = repeat 0 (S n).
Proof.
  induction n as [|n IH]; intros [|j] H; try reflexivity.
  change (0 :: insert j 0 (repeat 0 n) = 0 :: repeat 0 (S n)). f_equal; apply IH; lia.
Qed.

Lemma remove_zeros n j : (j <= n)%nat -> remove j (repeat 0 (S n)) = repeat 0 n.
Proof. intros H. rewrite <- (insert_zeros n j H). apply remove_insert. rewrite repeat_length; assumption. Qed.

Lemma scale_insert k j x u : scale k (insert j x u) = insert j ((k * x) mod q) (scale k u).
Proof. unfold scale, insert. rewrite map_app, firstn_map, skipn_map. reflexivity. Qed.

Lemma scale_remove k j w : scale k (remove j w) = remove j (scale k w).
Proof. unfold scale, remove. rewrite map_app, firstn_map, skipn_map. reflexivity. Qed.

Lemma remove_in_field j w : in_field w -> in_field (remove j w).
Proof.
  intros F. apply Forall_forall. intros x I. apply (proj1 (Forall_forall _ _) F). unfold remove in I.
  apply in_app_iff in I as [I|I]; [rewrite <- (firstn_skipn j w) | rewrite <- (firstn_skipn (S j) w)];
    apply in_app_iff; [left | right]; assumption.
Qed.

Lemma remove_len w : forall j, (j < length w)%nat -> length (remove j w) = (length w - 1)%nat.
Proof.
  intros j H. unfold remove. rewrite app_length, firstn_length_le, skipn_length by lia. lia.
Qed.

Lemma place_lt t v : canonical t v -> (place v < t)%nat.
Proof.
  intros (L & _ & E). subst t. induction v as [|x v IH]; cbn [lead place length] in *; [discriminate|].
  destruct (lead v =? 0) eqn:Z0; [lia|]. specialize (IH E). lia.
Qed.

(** Behind the leading one v is 0, so the product is that of the places before it, and the coordinate put in. *)
Lemma dot_insert v : forall x u, in_field v -> lead v = 1 -> length v = S (length u) ->
  dot v (insert (place v) x u) = dot (firstn (place v) v) (firstn (place v) u) + x.
Proof.
  induction v as [|y v IH]; intros x u F E L; [discriminate|]. inversion F; subst. cbn [lead place] in *.
  destruct (Z.eqb_spec (lead v) 0) as [e|n].
  - subst y. cbn [firstn]. unfold insert; cbn [firstn skipn app dot]. rewrite (lead_0 v e), dot_zeros. lia.
  - destruct u as [|z u]; [destruct v; [simpl in E; lia | discriminate]|].
    change (insert (S (place v)) x (z :: u)) with (z :: insert (place v) x u).
    cbn [firstn dot]. rewrite IH; [lia | assumption | assumption | simpl in L; lia].
Qed.

(** ** An index names each point exactly once *)

Section Point.
Variables (t : nat) (o p : Z).
Hypothesis Ht : (2 <= t)%nat.
Hypothesis Ho : 0 <= o < points t.
Hypothesis Hp : 0 <= p < points t.
Let v := vector t o.
Let w := vector t p.
Let j := place v.

Lemma v_canonical : canonical t v. Proof. apply vector_canonical; assumption. Qed.
Lemma w_canonical : canonical t w. Proof. apply vector_canonical; assumption. Qed.

Lemma j_lt : (j < t)%nat. Proof. apply place_lt, v_canonical. Qed.

(** What goes to place j is decided by the others and by the product. *)
Lemma own_unique u x s : length u = (t - 1)%nat -> 0 <= x < q -> dot v (insert j x u) mod q = s mod q ->
  (s - dot (firstn j v) (firstn j u)) mod q = x.
Proof.
  intros L Hx H. destruct v_canonical as (Lv & F & E). unfold j in *.
  rewrite dot_insert in H by (try assumption; lia). set (d := dot _ _) in *. clearbody d.
  rewrite Zminus_mod, <- H, <- Zminus_mod. replace (d + x - d) with x by ring. apply Z.mod_small; assumption.
Qed.

Lemma own_dot u s : length u = (t - 1)%nat ->
  dot v (insert j ((s - dot (firstn j v) (firstn j u)) mod q) u) mod q = s mod q.
Proof.
  intros L. destruct v_canonical as (Lv & F & E). unfold j in *.
  rewrite dot_insert by (try assumption; lia). set (d := dot _ _) in *. clearbody d.
  rewrite Z.add_mod_idemp_r by (pose proof q_ge_2; lia). f_equal; ring.
Qed.

(** The vector that an index makes has the number p if and only if it is a multiple of w. *)
Lemma number_is_p x : in_field x -> length x = t -> lead x <> 0 ->
  (number x = p <-> exists k, k mod q <> 0 /\ w = scale k x).
Proof.
  intros F L N. unfold number. pose proof (lead_range x F) as R. split.
  - intros H. exists (inverse (lead x)). split; [apply inverse_nonzero; lia|].
    pose proof (normalise_canonical x F N) as C. rewrite L in C.
    destruct (number_of_canonical t _ C) as [_ V]. unfold w. rewrite <- H, V. reflexivity.
  - intros (k & Hk & E).
    assert (X : x = scale (inverse (k mod q)) w).
    { rewrite E, scale_scale, scale_1; [reflexivity | apply inverse_mod; assumption | assumption]. }
    pose proof (Z.mod_pos_bound k q ltac:(pose proof q_ge_2; lia)).
    rewrite X, (normalise_scaled t); [|apply w_canonical | apply inverse_nonzero; lia].
    apply vector_canonical; assumption.
Qed.

Lemma dot_w_scaled k x : w = scale k x -> dot v w mod q = (k * dot v x) mod q.
Proof. intros ->; apply dot_scale. Qed.

Lemma lead_of_insert x u : in_field (insert j x u) -> (j <= length u)%nat -> lead u <> 0 -> lead (insert j x u) <> 0.
Proof.
  intros F Hj N e. apply lead_0 in e. pose proof (remove_insert x u j Hj) as R.
  rewrite e, insert_len, remove_zeros in R by assumption. apply N. rewrite <- R. apply zeros_lead.
Qed.

(** A point that v prefers is not 0 at all places but j. *)
Lemma remove_nonzero : dot v w mod q = 0 -> lead (remove j w) <> 0.
Proof.
  intros D. pose proof q_ge_2 as Q2. pose proof j_lt as Hj.
  destruct w_canonical as (Lw & Fw & Ew). destruct v_canonical as (Lv & Fv & Ev).
  intros e. apply lead_0 in e. rewrite remove_len in e by lia.
  pose proof (insert_remove w j ltac:(lia)) as S. rewrite e in S.
  assert (Xj : 0 <= nth j w 0 < q) by (apply (Forall_at (fun x => 0 <= x < q)); [assumption | lia]).
  pose proof (dot_insert v (nth j w 0) (repeat 0 (length w - 1)) Fv Ev ltac:(rewrite repeat_length; lia)) as DI.
  fold j in DI. rewrite S in DI.
  rewrite firstn_zeros, dot_zeros_r, Z.add_0_l in DI. rewrite DI, Z.mod_small in D by assumption.
  rewrite D, insert_zeros in S by lia. rewrite <- S, zeros_lead in Ew. discriminate.
Qed.

(** Inside: a preferred point has exactly one index, every other point none. *)
Definition inside_index : Z := canonical_number (normalise (remove j w)).

Lemma inside_range : dot v w mod q = 0 -> 0 <= inside_index < points (t - 1).
Proof.
  intros D. destruct w_canonical as (Lw & Fw & _). pose proof j_lt as Hj.
  pose proof (normalise_canonical _ (remove_in_field j w Fw) (remove_nonzero D)) as Cr.
  rewrite remove_len, Lw in Cr by lia. apply number_of_canonical; assumption.
Qed.

Theorem inside_once i : 0 <= i < points (t - 1) ->
  (point t o true i = p <-> dot v w mod q = 0 /\ i = inside_index).
Proof.
  intros Hi. pose proof q_ge_2 as Q2. pose proof j_lt as Hj.
  destruct (vector_canonical (t - 1) i Hi) as [Cu Iu]. destruct Cu as (Lu & Fu & Eu).
  destruct w_canonical as (Lw & Fw & Ew). destruct v_canonical as (Lv & Fv & Ev).
  unfold point. fold v. fold j. set (u := vector (t - 1) i) in *.
  set (own := (0 - dot (firstn j v) (firstn j u)) mod q).
  assert (Ro : 0 <= own < q) by (apply Z.mod_pos_bound; lia).
  assert (Fx : in_field (insert j own u)) by (apply insert_in_field; assumption).
  assert (Lx : length (insert j own u) = t) by (rewrite insert_len; lia).
  assert (Nx : lead (insert j own u) <> 0) by (apply lead_of_insert; [assumption | lia | lia]).
  assert (Dx : dot v (insert j own u) mod q = 0).
  { unfold own. rewrite own_dot by assumption. apply Z.mod_0_l; lia. }
  rewrite number_is_p by assumption. split.
  - intros (k & Hk & E). split.
    + rewrite (dot_w_scaled k _ E), <- Z.mul_mod_idemp_r, Dx, Z.mul_0_r by lia. apply Z.mod_0_l; lia.
    + unfold inside_index. rewrite E, <- scale_remove, remove_insert by lia.
      rewrite (normalise_scaled (t - 1)); [symmetry; exact Iu | repeat split; assumption | assumption].
  - intros [D I].
    pose proof (remove_nonzero D) as Nr.
    assert (Fr : in_field (remove j w)) by (apply remove_in_field; assumption).
    pose proof (normalise_canonical _ Fr Nr) as Cr. rewrite remove_len, Lw in Cr by lia.
    destruct (number_of_canonical (t - 1) _ Cr) as [_ V]. fold inside_index in V. rewrite <- I in V. fold u in V.
    set (k := inverse (lead (remove j w))) in *. pose proof (lead_range _ Fr).
    assert (Hk : k mod q <> 0) by (apply inverse_nonzero; lia).
    change (normalise (remove j w)) with (scale k (remove j w)) in V.
    assert (X : insert j own u = scale k w).
    { rewrite <- (insert_remove w j) at 1 by lia. rewrite scale_insert, <- V. f_equal.
      apply own_unique; [assumption | apply Z.mod_pos_bound; lia |].
      rewrite V, <- scale_insert, insert_remove, dot_scale by lia.
      rewrite <- Z.mul_mod_idemp_r, D, Z.mul_0_r by lia. reflexivity. }
    exists (inverse (k mod q)). pose proof (Z.mod_pos_bound k q ltac:(lia)).
    split; [apply inverse_nonzero; lia|].
    rewrite X, scale_scale, scale_1; [reflexivity | apply inverse_mod; assumption | assumption].
Qed.

(** Outside: a point that is not preferred has exactly one index, a preferred one none. *)
Definition outside_index : Z := value (remove j (scale (inverse (dot v w mod q)) w)).

Lemma outside_range : 0 <= outside_index < q ^ Z.of_nat (t - 1).
Proof.
  destruct w_canonical as (Lw & _). pose proof j_lt as Hj. unfold outside_index.
  set (x := scale _ w). assert (Lx : length x = t) by (unfold x, scale; rewrite map_length; exact Lw).
  destruct (digits_value (remove j x)) as [R _]; [apply remove_in_field, in_field_scale|].
  rewrite remove_len, Lx in R by lia. exact R.
Qed.

Theorem outside_once i : 0 <= i < q ^ Z.of_nat (t - 1) ->
  (point t o false i = p <-> dot v w mod q <> 0 /\ i = outside_index).
Proof.
  intros Hi. pose proof q_ge_2 as Q2. pose proof j_lt as Hj.
  destruct (digits_spec (t - 1) i Hi) as (Lu & Fu & Iu).
  destruct w_canonical as (Lw & Fw & Ew). destruct v_canonical as (Lv & Fv & Ev).
  unfold point. fold v. fold j. set (u := digits (t - 1) i) in *.
  set (own := (1 - dot (firstn j v) (firstn j u)) mod q).
  assert (Ro : 0 <= own < q) by (apply Z.mod_pos_bound; lia).
  assert (Fx : in_field (insert j own u)) by (apply insert_in_field; assumption).
  assert (Lx : length (insert j own u) = t) by (rewrite insert_len; lia).
  assert (Dx : dot v (insert j own u) mod q = 1).
  { unfold own. rewrite own_dot by assumption. apply Z.mod_small; lia. }
  assert (Nx : lead (insert j own u) <> 0).
  { intros e. apply lead_0 in e. rewrite e, dot_zeros_r, Z.mod_0_l in Dx by lia. discriminate. }
  rewrite number_is_p by assumption. split.
  - intros (k & Hk & E).
    assert (Dw : dot v w mod q = k mod q).
    { rewrite (dot_w_scaled k _ E), <- Z.mul_mod_idemp_r, Dx, Z.mul_1_r by lia. reflexivity. }
    split; [congruence|]. unfold outside_index. rewrite Dw, E, scale_scale.
    rewrite scale_1 by (try apply inverse_mod; assumption). rewrite remove_insert by lia. symmetry; exact Iu.
  - intros [D I]. set (k := inverse (dot v w mod q)) in *.
    pose proof (Z.mod_pos_bound (dot v w) q ltac:(lia)).
    assert (Hk : k mod q <> 0) by (apply inverse_nonzero; lia).
    assert (Fr : in_field (remove j (scale k w))) by (apply remove_in_field, in_field_scale).
    assert (Ls : length (scale k w) = t) by (unfold scale; rewrite map_length; exact Lw).
    destruct (digits_value _ Fr) as [_ V]. change (i = value (remove j (scale k w))) in I. rewrite <- I in V.
    rewrite remove_len, Ls in V by lia. fold u in V.
    assert (X : insert j own u = scale k w).
    { rewrite <- (insert_remove (scale k w) j) at 1 by lia. rewrite <- V. f_equal.
      apply own_unique; [assumption | apply (Forall_at (fun x => 0 <= x < q)); [apply in_field_scale | lia] |].
      rewrite V, insert_remove, dot_scale by lia. unfold k. rewrite inverse_mod by assumption.
      symmetry; apply Z.mod_small; lia. }
    exists (inverse (k mod q)). pose proof (Z.mod_pos_bound k q ltac:(lia)).
    split; [apply inverse_nonzero; lia|].
    rewrite X, scale_scale, scale_1; [reflexivity | apply inverse_mod; assumption | assumption].
Qed.
End Point.

(** ** The law *)

(** [Hyperplanes::preferred], c: how many points every outcome prefers. *)
Definition preferred (t : nat) : Z := (points t - 1) / q.

Lemma preferred_points t : preferred (S t) = points t.
Proof.
  pose proof q_ge_2 as Q2. unfold preferred. cbn [points].
  replace (1 + q * points t - 1) with (points t * q) by ring. apply Z.div_mul; lia.
Qed.

Lemma rest_points t : points (S t) - preferred (S t) = q ^ Z.of_nat t.
Proof.
  rewrite preferred_points. induction t as [|t IH]; [cbn [points]; rewrite Z.mul_0_r; reflexivity|].
  rewrite Nat2Z.inj_succ, Z.pow_succ_r, <- IH by lia. cbn [points]. ring.
Qed.

Lemma sizes t : (2 <= t)%nat ->
  preferred t = points (t - 1) /\ points t - preferred t = q ^ Z.of_nat (t - 1) /\ 0 < preferred t < points t.
Proof.
  intros Ht. pose proof q_ge_2 as Q2. set (m := (t - 1)%nat). assert (Em : t = S m) by lia.
  pose proof (rest_points m) as R. pose proof (preferred_points m) as P. rewrite <- Em in R, P.
  assert (Pm : 0 < points m).
  { destruct m as [|m']; [lia|]. cbn [points]. pose proof (points_nonneg m'). nia. }
  assert (Qm : 0 < q ^ Z.of_nat m) by (apply Z.pow_pos_nonneg; lia).
  repeat split; try assumption; lia.
Qed.

(** Every point has exactly one side and index: inside if <v, w> = 0. *)
Theorem hyperplanes_once t o : (2 <= t)%nat -> 0 <= o < points t -> once (points t) (preferred t) (point t o).
Proof.
  intros Ht Ho p Hp. destruct (sizes t Ht) as (E1 & E2 & _). rewrite E2, E1.
  pose proof (inside_once t o p Ht Ho Hp) as In. pose proof (outside_once t o p Ht Ho Hp) as Out.
  pose proof (inside_range t o p Ht Ho Hp) as Ri. pose proof (outside_range t o p Ht Ho Hp) as Ro.
  destruct (Z.eq_dec (dot (vector t o) (vector t p) mod q) 0) as [e|n]; [left | right]; split.
  - exists (inside_index t o p). split; [auto|]. intros j Hj. rewrite In by assumption. tauto.
  - intros j Hj E. apply Out in E; tauto.
  - intros j Hj E. apply In in E; tauto.
  - exists (outside_index t o p). split; [assumption|]. intros j Hj. rewrite Out by assumption. tauto.
Qed.

(** For every prime order and all geometries of fewer than 2^24 points, any two texts, of whatever outcomes: e^eps. *)
Theorem hyperplanes_private micro t o o' p : 1 <= micro <= max_micro -> (2 <= t)%nat -> points t < 2 ^ 24 ->
  0 <= o < points t -> 0 <= o' < points t -> 0 <= p < points t ->
  near (exp (eps micro)) (draws (per_unit_1 micro) (points t) (preferred t) (point t o) p)
    (draws (per_unit_1 micro) (points t) (preferred t) (point t o') p).
Proof.
  intros Hu Ht HK Ho Ho' Hp. destruct (sizes t Ht) as (_ & _ & Hc).
  apply points_private; try assumption; apply hyperplanes_once; assumption.
Qed.
End Geometry.
