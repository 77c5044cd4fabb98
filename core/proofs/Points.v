(** * Points for whole texts: one coin and one index

    [Geometry::draw] of projective.rs tosses a coin for whether the point is one of c that the outcome prefers, then
    draws an index below c, or below K - c. This file proves, for any kind of points, that this is e^eps-private for
    any two outcomes, if only every point has exactly one side and index. It then proves that of arithmetic
    progressions; Hyperplanes.v proves it of hyperplanes. *)
Require Import Reals Lra Lia ZArith Znumtheory Psatz.
Require Import List Arith.
Require Import Undertone.Integral Undertone.Coins Undertone.Weights Undertone.Constant Undertone.Draws.
Require Import Undertone.Steps Undertone.Select Undertone.Private Undertone.WholeText.
Local Open Scope Z_scope.

(** The weight of a preferred point. *)
Definition preferred_weight : Z := 2 ^ 40.

(** [Geometry::draw]: the probability of point [p]. [point inside index] is [Geometry::point] for the outcome,
    [points] is K, [preferred] is c. [D] is how a number is drawn, as in Select.v. *)
Definition draws_by (D : Z -> (Z -> R) -> R) (C points preferred : Z) (point : bool -> Z -> Z) (p : Z) : R :=
  let other := step C preferred_weight in
  let rest := points - preferred in
  let share := preferred * preferred_weight in
  D (share + rest * other) (fun coin =>
    let inside := coin <? share in
    D (if inside then preferred else rest) (fun index => if point inside index =? p then 1%R else 0%R)).
Definition draws := draws_by draw.

(** Of [n] indices exactly one names the point [p]; none does. *)
Definition one_of (n : Z) (f : Z -> Z) (p : Z) := exists i, 0 <= i < n /\ forall j, 0 <= j < n -> (f j = p <-> j = i).
Definition none_of (n : Z) (f : Z -> Z) (p : Z) := forall j, 0 <= j < n -> f j <> p.

(** Every point has exactly one side and index, for this outcome. *)
Definition once (points preferred : Z) (point : bool -> Z -> Z) : Prop := forall p, 0 <= p < points ->
  (one_of preferred (point true) p /\ none_of (points - preferred) (point false) p) \/
  (none_of preferred (point true) p /\ one_of (points - preferred) (point false) p).

Lemma one_of_uniform n f p : one_of n f p -> uniform n (fun i => if f i =? p then 1%R else 0%R) = (/ IZR n)%R.
Proof.
  intros (i & Hi & H). rewrite (uniform_interval n i 1 _ 1); try lia; [unfold Rdiv; ring | |]; intros j Hj;
    [|intros Hn]; destruct (Z.eqb_spec (f j) p) as [E|E]; try reflexivity; exfalso.
  - apply E, H; lia.
  - apply H in E; lia.
Qed.

Lemma none_of_uniform n f p : none_of n f p -> uniform n (fun i => if f i =? p then 1%R else 0%R) = 0%R.
Proof.
  intros H. apply uniform_none. intros j Hj.
  destruct (Z.eqb_spec (f j) p) as [E|E]; [apply H in E; tauto | reflexivity].
Qed.

Section Law.
Variables C K c : Z.
Hypothesis HC : 0 < C < two64.
Hypothesis Hc : 0 < c < K.
Hypothesis HK : K < 2 ^ 24.

Let W0 : Z := preferred_weight.
Let W1 : Z := step C preferred_weight.
Let rest : Z := K - c.
Let total : Z := c * W0 + rest * W1.

Lemma totals : 1 <= W1 <= W0 /\ W0 * C <= two64 * W1 /\ 0 < total <= two64.
Proof.
  pose proof (step_spec C HC preferred_weight ltac:(split; discriminate)) as [S1 S2]. fold W1 in S1, S2.
  assert (T : 2 ^ 24 * preferred_weight = two64) by reflexivity.
  assert (W : 0 < preferred_weight) by reflexivity.
  assert (TT : total <= K * preferred_weight) by (unfold total, W0, rest; nia).
  assert (TP : 0 < total) by (unfold total, W0, rest; nia).
  clearbody total W1. repeat split; try lia. nia.
Qed.

(** Ideally a preferred point has the probability W0 / total and any other W1 / total; total is the same for every
    outcome. *)
Theorem point_law point p : once K c point -> 0 <= p < K ->
  exists inside : bool, draws_by uniform C K c point p = (IZR (if inside then W0 else W1) / IZR total)%R.
Proof.
  intros H Hp. destruct totals as (HW & _ & HT). unfold draws_by. fold W0 W1 rest. fold total.
  assert (Kc : (0 < IZR c)%R) by (apply IZR_lt; lia).
  assert (Kr : (0 < IZR rest)%R) by (apply IZR_lt; unfold rest; lia).
  assert (Kt : (0 < IZR total)%R) by (apply IZR_lt; lia). assert (R0 : 0 < rest) by (unfold rest; lia).
  specialize (H p Hp). fold rest in H.
  destruct H as [[A B]|[A B]].
  - exists true. apply one_of_uniform in A. apply none_of_uniform in B.
    rewrite (uniform_interval total 0 (c * W0) _ (/ IZR c)); try nia.
    + rewrite mult_IZR. field; split; lra.
    + intros i Hi. destruct (Z.ltb_spec i (c * W0)); [exact A | lia].
    + intros i Hi Hn. destruct (Z.ltb_spec i (c * W0)); [lia | exact B].
  - exists false. apply none_of_uniform in A. apply one_of_uniform in B.
    rewrite (uniform_interval total (c * W0) (rest * W1) _ (/ IZR rest)); try nia.
    + rewrite mult_IZR. field; split; lra.
    + intros i Hi. destruct (Z.ltb_spec i (c * W0)); [lia | exact B].
    + intros i Hi Hn. destruct (Z.ltb_spec i (c * W0)); [exact A | unfold total in Hi; lia].
Qed.

Lemma point_within point p :
  (low * draws_by uniform C K c point p <= draws C K c point p <= high * draws_by uniform C K c point p)%R.
Proof.
  destruct totals as (HW & _ & HT). unfold draws, draws_by. fold W0 W1 rest. fold total.
  apply (two_draws_within total (fun coin => if coin <? c * W0 then c else rest)
    (fun coin index => if point (coin <? c * W0) index =? p then 1%R else 0%R)).
  - assumption.
  - intros coin _. unfold many, rest. destruct (coin <? c * W0); lia.
  - intros coin index. destruct (_ =? _); lra.
Qed.
End Law.

Lemma two_weights C W0 W1 total (a b : bool) : 0 < C < two64 -> 1 <= W1 <= W0 -> W0 * C <= two64 * W1 ->
  0 < total <= two64 ->
  (0 <= IZR (if a then W0 else W1) / IZR total /\ 0 <= IZR (if b then W0 else W1) / IZR total)%R /\
  near (rho_of C) (IZR (if a then W0 else W1) / IZR total) (IZR (if b then W0 else W1) / IZR total).
Proof.
  intros HC HW Hs HT. pose proof (rho_ge_1 C HC) as R1.
  assert (T : (0 < / IZR total)%R) by (apply Rinv_0_lt_compat, IZR_lt; lia).
  assert (F1 : (1 <= IZR W1)%R) by (apply IZR_le; lia). assert (F2 : (IZR W1 <= IZR W0)%R) by (apply IZR_le; lia).
  assert (F3 : (IZR W0 <= rho_of C * IZR W1)%R).
  { apply IZR_le in Hs. rewrite !mult_IZR in Hs.
    assert (Cp : (0 < IZR C)%R) by (apply IZR_lt; lia). unfold rho_of.
    apply Rmult_le_reg_r with (IZR C); [assumption|].
    replace (IZR two64 / IZR C * IZR W1 * IZR C)%R with (IZR two64 * IZR W1)%R by (field; lra). exact Hs. }
  unfold near, Rdiv. rewrite <- !Rmult_assoc.
  repeat split; [apply Rmult_le_pos | apply Rmult_le_pos | apply Rmult_le_compat_r | apply Rmult_le_compat_r];
    destruct a, b; try lra; nra.
Qed.

(** Any two outcomes, whose points are drawn by [f] and [g]: e^eps, for every eps from 0.000001 to 1000, random bits
    included. *)
Theorem points_private micro K c f g p : 1 <= micro <= max_micro -> 0 < c < K -> K < 2 ^ 24 ->
  once K c f -> once K c g -> 0 <= p < K ->
  near (exp (eps micro)) (draws (per_unit_1 micro) K c f p) (draws (per_unit_1 micro) K c g p).
Proof.
  intros Hu Hc HK Hf Hg Hp. pose proof (per_unit_pays micro Hu) as Pays.
  pose proof (per_unit_range micro) as HC.
  set (C := per_unit_1 micro) in *; clearbody C.
  destruct (totals C K c HC Hc HK) as (HW & Hs & HT).
  pose proof (rho_ge_1 C HC) as R1. pose proof low_pos as Lp.
  pose proof (point_within C K c HC Hc HK f p) as B. pose proof (point_within C K c HC Hc HK g p) as B'.
  destruct (point_law C K c HC Hc HK f p Hf Hp) as [a Ea].
  destruct (point_law C K c HC Hc HK g p Hg Hp) as [b Eb].
  rewrite Ea in B. rewrite Eb in B'.
  destruct (two_weights C _ _ _ a b HC HW Hs HT) as ((P & P') & Q).
  destruct (near_bits (rho_of C) _ _ _ _ ltac:(lra) P P' Q B B') as [X Y].
  assert (0 <= draws C K c f p /\ 0 <= draws C K c g p)%R as [Z1 Z2] by (split; nra).
  split; [apply Rle_trans with (1 := X) | apply Rle_trans with (1 := Y)]; (apply Rmult_le_compat_r; assumption).
Qed.

(** ** Arithmetic progressions (progressions.rs)

    Of [k] terms modulo a prime [v]; h steps. An outcome prefers the progressions that it is in. *)
Section Progressions.
Variables v k : Z.
Hypothesis Hv : prime v.
Hypothesis H5 : 5 <= v.
Let h : Z := v / 2.
Hypothesis Hk : 2 <= k <= h.

(** [Progressions::point] *)
Definition progression (outcome : Z) (inside : bool) (index : Z) : Z :=
  let place := index / (v / 2) + (if inside then 0 else k) in
  let step := index mod (v / 2) in
  let back := ((step + 1) * place) mod v in
  (outcome + v - back) mod v * (v / 2) + step.

Lemma h_bounds : 2 <= h /\ 2 * h <= v.
Proof. pose proof (Z.div_mod v 2). pose proof (Z.mod_pos_bound v 2). unfold h in *. lia. Qed.

(** For each step there is exactly one place from which the start is reached. *)
Lemma one_place o s a : 0 <= s < v -> 0 < a < v -> exists i, 0 <= i < v /\
  forall j, 0 <= j < v -> ((o + v - (a * j) mod v) mod v = s <-> j = i).
Proof.
  intros Hs Ha.
  destruct (rel_prime_bezout a v) as [x y E]; [apply rel_prime_sym, prime_rel_prime; [exact Hv|]|].
  { intros D. apply Z.divide_pos_le in D; lia. }
  exists ((x * (o - s)) mod v). split; [apply Z.mod_pos_bound; lia|].
  set (i := (x * (o - s)) mod v). assert (Ri : 0 <= i < v) by (apply Z.mod_pos_bound; lia).
  assert (Di : (v | o - s - a * i)).
  { unfold i. rewrite (Z.mod_eq (x * (o - s)) v) by lia. set (t := x * (o - s) / v).
    exists (y * (o - s) + a * t). replace (o - s) with ((x * a + y * v) * (o - s)) at 1 by (rewrite E; ring). ring. }
  intros j Hj.
  assert (Dj : (o + v - (a * j) mod v) mod v = s <-> (v | o - s - a * j)).
  { rewrite (Z.mod_eq (a * j) v) by lia. set (t := a * j / v).
    replace (o + v - (a * j - v * t)) with (o - a * j + (1 + t) * v) by ring. rewrite Z.mod_add by lia. split.
    - intros H. exists ((o - a * j) / v). pose proof (Z.div_mod (o - a * j) v ltac:(lia)). lia.
    - intros [u H]. replace (o - a * j) with (s + u * v) by lia. rewrite Z.mod_add by lia. apply Z.mod_small; lia. }
  rewrite Dj. split; [|intros ->; exact Di]. intros D.
  pose proof (Z.divide_sub_r _ _ _ D Di) as S.
  replace (o - s - a * j - (o - s - a * i)) with (a * (i - j)) in S by ring.
  apply prime_mult in S; [|exact Hv]. destruct S as [S|S]; [apply Z.divide_pos_le in S; lia|].
  destruct (Z.eq_dec i j); [congruence|]. exfalso.
  destruct (Z.lt_ge_cases j i); [apply Z.divide_pos_le in S; lia|].
  apply Z.divide_opp_r in S. apply Z.divide_pos_le in S; lia.
Qed.

(** Every progression has exactly one side and index. *)
Theorem progressions_once o : once (v * h) (k * h) (progression o).
Proof.
  intros p Hp. pose proof h_bounds as Hh.
  pose proof (Z.div_mod p h ltac:(lia)) as Dp. pose proof (Z.mod_pos_bound p h ltac:(lia)) as Mp.
  set (s := p / h) in *. set (b := p mod h) in *.
  assert (Rs : 0 <= s < v) by nia.
  destruct (one_place o s (b + 1) Rs ltac:(lia)) as (i & Ri & Hi). clearbody s b.
  assert (G : forall inside j, 0 <= j -> 0 <= j / h + (if inside : bool then 0 else k) < v ->
    (progression o inside j = p <-> j / h + (if inside then 0 else k) = i /\ j mod h = b)).
  { intros inside j J0 Hj. unfold progression. fold h. pose proof (Z.mod_pos_bound j h ltac:(lia)) as Mj.
    set (q := j / h + (if inside then 0 else k)) in *. set (r := j mod h) in *. clearbody q r.
    pose proof (Z.mod_pos_bound (o + v - ((r + 1) * q) mod v) v ltac:(lia)) as Ms. split.
    - intros E.
      destruct (Z.div_mod_unique h ((o + v - ((r + 1) * q) mod v) mod v) s r b) as [X ->]; [lia | lia | lia |].
      split; [apply Hi in X; assumption | reflexivity].
    - intros [Q ->]. rewrite (proj2 (Hi q Hj) Q). lia. }
  assert (N : forall n j, 0 <= j < n * h -> 0 <= j / h < n).
  { intros n j Hj. split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia]. }
  assert (I : forall t, (t * h + b) / h = t /\ (t * h + b) mod h = b).
  { intros t. rewrite Z.add_comm, Z.div_add, Z.mod_add, Z.div_small, Z.mod_small by lia.
    split; [ring | reflexivity]. }
  assert (U : forall j, 0 <= j -> j = j / h * h + j mod h).
  { intros j _. rewrite Z.mul_comm. apply Z.div_mod; lia. }
  replace (v * h - k * h) with ((v - k) * h) by ring.
  destruct (Z.lt_ge_cases i k) as [L|L]; [left | right]; split.
  - exists (i * h + b). split; [nia|]. intros j Hj. specialize (N k j Hj). specialize (U j ltac:(lia)).
    rewrite (G true j) by lia. destruct (I i) as [I1 I2]. split; [intros [X Y]; nia | intros ->; lia].
  - intros j Hj. specialize (N (v - k) j Hj). rewrite (G false j) by lia. lia.
  - intros j Hj. specialize (N k j Hj). rewrite (G true j) by lia. lia.
  - exists ((i - k) * h + b). split; [nia|]. intros j Hj. specialize (N (v - k) j Hj). specialize (U j ltac:(lia)).
    rewrite (G false j) by lia. destruct (I (i - k)) as [I1 I2]. split; [intros [X Y]; nia | intros ->; lia].
Qed.

(** Progressions, for any two texts, of whatever outcomes: e^eps. *)
Theorem progressions_private micro o o' p :
  1 <= micro <= max_micro -> v * (v / 2) < 2 ^ 24 -> 0 <= p < v * (v / 2) ->
  near (exp (eps micro)) (draws (per_unit_1 micro) (v * (v / 2)) (k * (v / 2)) (progression o) p)
    (draws (per_unit_1 micro) (v * (v / 2)) (k * (v / 2)) (progression o') p).
Proof.
  intros Hu HK Hp. pose proof h_bounds as Hh. fold h in HK, Hp |- *.
  apply points_private; try assumption; try apply progressions_once. nia.
Qed.
End Progressions.
