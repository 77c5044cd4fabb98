(** * One line of a slot, and the slots of a window

    [Reservoir] of reservoir.rs keeps the outcome of one line that is drawn without looking at any. [Appointment] of
    appointment.rs draws the slots of a window in which a device releases. This file proves that each of m lines is
    kept with probability 1 / max(k, m); that a release of the kept outcome has the promise eps for all lines
    together, and 1 + j * (e^eps - 1) / k for any j of them; and that c releases have c * eps for the whole window. *)
Require Import Reals Lra Lia ZArith Psatz.
Require Import List Arith.
Require Import Undertone.Integral Undertone.Coins Undertone.Weights Undertone.Constant Undertone.Draws.
Require Import Undertone.Steps Undertone.Select Undertone.Private Undertone.WholeText Undertone.Points.
Import ListNotations.
Local Open Scope R_scope.

(** ** The model *)

Section Model.
Context {A : Type}.

(** [Draw::add], line by line: the expectation of [f] over the outcome that is kept after [lines]. The outcome kept so
    far is [best], of [line] lines. [D] is how a number is drawn, as in Select.v. (The code counts no further than
    2^32 - 1 lines.) *)
Fixpoint add_lines (D : Z -> (Z -> R) -> R) (places place line : Z) (lines : list A) (best : A) (f : A -> R) : R :=
  match lines with
  | nil => f best
  | outcome :: rest =>
      let line := (line + 1)%Z in
      D line (fun drawn =>
        let late := (drawn =? 0)%Z in
        let is_late := (places <? line)%Z in
        let kept := (is_late && late || negb is_late && (line =? place)%Z)%bool in
        add_lines D places place line rest (if kept then outcome else best) f)
  end.

(** [Draw::new], then [lines]: "nothing known" is kept before the first one. *)
Definition reservoir_by (D : Z -> (Z -> R) -> R) (places : Z) (nothing : A) (lines : list A) (f : A -> R) : R :=
  D places (fun place => add_lines D places (place + 1) 0 lines nothing f).
Definition reservoir := reservoir_by draw.
End Model.

(** ** Each line is kept with the same probability *)

(** The kept lines that are equally likely: all lines, and "nothing known" for each place that has no line. *)
Definition places_without (places : Z) (m : nat) : nat := (Z.to_nat places - m)%nat.
Definition equally_likely {A} (places : Z) (nothing : A) (lines : list A) : list A :=
  lines ++ repeat nothing (places_without places (length lines)).

Lemma sum_app a b : sum (a ++ b) = sum a + sum b.
Proof. unfold sum. induction a as [|x a IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_repeat x n : sum (repeat x n) = INR n * x.
Proof.
  induction n as [|n IH]; [simpl; ring|]. rewrite S_INR. unfold sum in *; simpl. rewrite IH; ring.
Qed.

Lemma map_repeat {A B} (f : A -> B) x n : map f (repeat x n) = repeat (f x) n.
Proof. induction n; simpl; congruence. Qed.

Lemma sum_n_nth (l : list R) : sum_n (fun i => nth i l 0) (length l) = sum l.
Proof.
  induction l as [|x l IH]; [reflexivity|]. cbn [length]. rewrite sum_shift. unfold sum in *; simpl. rewrite IH; ring.
Qed.

Section Uniform.
Context {A : Type}.
Variable places : Z.
Hypothesis Hk : (0 < places)%Z.
Variable nothing : A.

Lemma add_lines_app D place (lines more : list A) : forall line best f,
  add_lines D places place line (lines ++ more) best f
  = add_lines D places place line lines best
      (fun kept => add_lines D places place (line + Z.of_nat (length lines)) more kept f).
Proof.
  induction lines as [|x lines IH]; intros line best f.
  - cbn [app add_lines length Z.of_nat]. rewrite Z.add_0_r. reflexivity.
  - cbn [app add_lines]. f_equal. apply FunctionalExtensionality.functional_extensionality. intros drawn.
    rewrite IH. f_equal. apply FunctionalExtensionality.functional_extensionality. intros kept.
    f_equal. cbn [length]. lia.
Qed.

(** Up to [places] lines: the line at the place, and nothing before it. *)
Lemma first_lines place (lines : list A) f : forall line best, (0 <= line)%Z ->
  (line + Z.of_nat (length lines) <= places)%Z ->
  add_lines uniform places place line lines best f
  = f (if (line <? place)%Z then nth (Z.to_nat (place - line - 1)) lines best else best).
Proof.
  induction lines as [|x lines IH]; intros line best Hl Hp; cbn [length] in Hp.
  - cbn [add_lines]. destruct (line <? place)%Z; [destruct (Z.to_nat _)|]; reflexivity.
  - cbn [add_lines]. destruct (Z.ltb_spec places (line + 1)) as [L|L]; [lia|].
    cbn [andb orb negb]. rewrite uniform_const by lia. rewrite IH by lia. f_equal.
    destruct (Z.eqb_spec (line + 1) place) as [E|E].
    + destruct (Z.ltb_spec (line + 1) place), (Z.ltb_spec line place); try lia.
      replace (Z.to_nat (place - line - 1)) with O by lia. reflexivity.
    + destruct (Z.ltb_spec (line + 1) place), (Z.ltb_spec line place); try lia; [|reflexivity].
      replace (Z.to_nat (place - line - 1)) with (S (Z.to_nat (place - (line + 1) - 1))) by lia. reflexivity.
Qed.

Lemma first_law lines f : (Z.of_nat (length lines) <= places)%Z ->
  reservoir_by uniform places nothing lines f = sum (map f (equally_likely places nothing lines)) / IZR places.
Proof.
  intros Hm. unfold reservoir_by, uniform at 1. f_equal.
  rewrite <- sum_n_nth, map_length. unfold equally_likely, places_without. rewrite app_length, repeat_length.
  replace (length lines + (Z.to_nat places - length lines))%nat with (Z.to_nat places) by lia.
  apply sum_ext. intros i Hi. rewrite first_lines by lia.
  destruct (Z.ltb_spec 0 (Z.of_nat i + 1)); [|lia].
  replace (Z.to_nat (Z.of_nat i + 1 - 0 - 1)) with i by lia.
  rewrite (nth_indep _ 0 (f nothing)) by (rewrite map_length, app_length, repeat_length; lia).
  rewrite map_nth. f_equal. destruct (Nat.lt_ge_cases i (length lines)).
  - rewrite app_nth1 by assumption. reflexivity.
  - rewrite app_nth2, nth_overflow by assumption. symmetry. apply nth_repeat.
Qed.

(** A later line: the one kept so far is replaced with probability 1 / (m + 1). *)
Lemma later_line lines x f : (places <= Z.of_nat (length lines))%Z ->
  reservoir_by uniform places nothing (lines ++ [x]) f
  = reservoir_by uniform places nothing lines
      (fun kept => f x / INR (S (length lines)) + INR (length lines) / INR (S (length lines)) * f kept).
Proof.
  intros Hm. unfold reservoir_by. apply uniform_ext. intros place Hp. rewrite add_lines_app. f_equal.
  apply FunctionalExtensionality.functional_extensionality. intros kept. cbn [add_lines].
  set (m := length lines) in *. assert (P : 0 < INR (S m)) by (apply lt_0_INR; lia).
  replace (0 + Z.of_nat m + 1)%Z with (Z.of_nat (S m)) by lia.
  destruct (Z.ltb_spec places (Z.of_nat (S m))); [|lia]. cbn [andb orb negb].
  rewrite (uniform_ext _ _ (fun drawn => if (drawn =? 0)%Z then f x else f kept))
    by (intros i _; destruct (i =? 0)%Z; reflexivity).
  unfold uniform. rewrite Nat2Z.id, sum_shift, <- INR_IZR_INZ.
  rewrite (sum_ext _ (fun _ => f kept)) by (intros i _; destruct (Z.eqb_spec (Z.of_nat (S i)) 0); [lia | reflexivity]).
  rewrite sum_const. simpl Z.of_nat. cbn [Z.eqb]. field. lra.
Qed.

(** The law of what is kept: the mean over max(k, m) lines, "nothing known" where a place has none. *)
Theorem reservoir_law lines : forall f,
  reservoir_by uniform places nothing lines f
  = sum (map f (equally_likely places nothing lines)) / IZR (Z.max places (Z.of_nat (length lines))).
Proof.
  induction lines as [|x lines IH] using rev_ind; intros f.
  - rewrite first_law by (simpl; lia). do 2 f_equal. simpl; lia.
  - destruct (Z.le_gt_cases (Z.of_nat (length (lines ++ [x]))) places) as [L|G].
    + rewrite first_law by assumption. do 2 f_equal. lia.
    + rewrite app_length in G |- *. cbn [length] in G |- *. rewrite later_line, IH by lia.
      unfold equally_likely, places_without. rewrite app_length. cbn [length].
      replace (Z.to_nat places - length lines)%nat with O by lia.
      replace (Z.to_nat places - (length lines + 1))%nat with O by lia.
      cbn [repeat]. rewrite !app_nil_r, map_app, sum_app.
      set (m := length lines) in *.
      replace (Z.max places (Z.of_nat (m + 1))) with (Z.of_nat (S m)) by lia.
      replace (Z.max places (Z.of_nat m)) with (Z.of_nat m) by lia. rewrite <- !INR_IZR_INZ.
      assert (P : 0 < INR m) by (apply lt_0_INR; lia). assert (P' : 0 < INR (S m)) by (apply lt_0_INR; lia).
      assert (T : forall a b l, sum (map (fun y : A => a + b * f y) l) = INR (length l) * a + b * sum (map f l)).
      { intros a b l. induction l as [|y l IHl]; [simpl; unfold sum; simpl; ring|].
        cbn [length]. rewrite S_INR. unfold sum in *; simpl. rewrite IHl; ring. }
      rewrite T. fold m. change (sum (map f [x])) with (f x + 0). field. split; lra.
Qed.
End Uniform.

(** Each of [m] lines is kept with probability 1 / max(k, m), whatever its position. Lines are numbered from 0 here,
    [m] is "nothing known". *)
Theorem kept_alike places m i : (0 < places)%Z -> (i < m)%nat ->
  reservoir_by uniform places m (seq 0 m) (is i) = / IZR (Z.max places (Z.of_nat m)).
Proof.
  intros Hk Hi. rewrite reservoir_law by assumption. rewrite seq_length.
  unfold equally_likely. rewrite map_app, sum_app, map_repeat, sum_repeat.
  assert (N : is i m = 0) by (unfold is; destruct (Nat.eqb_spec m i); [lia | reflexivity]).
  assert (S : forall n a, sum (map (is i) (seq a n)) = if ((a <=? i) && (i <? a + n))%nat%bool then 1 else 0).
  { induction n as [|n IH]; intros a.
    - destruct (Nat.leb_spec a i), (Nat.ltb_spec i (a + 0)); simpl; lia || reflexivity.
    - cbn [seq map]. change (sum (?x :: ?y)) with (x + sum y). rewrite IH. unfold is.
      destruct (Nat.eqb_spec a i), (Nat.leb_spec (S a) i), (Nat.leb_spec a i), (Nat.ltb_spec i (S a + n)),
        (Nat.ltb_spec i (a + S n)); cbn [andb]; try lia; ring. }
  rewrite N, S. cbn [Nat.leb andb]. destruct (Nat.ltb_spec i (0 + m)); [|lia].
  unfold Rdiv. ring.
Qed.

(** ** All lines together: a mixture *)

(** An expectation over values for which [ok] holds lies between the bounds of the function. *)
Definition averages {A} (ok : A -> Prop) (L : (A -> R) -> R) : Prop := forall f lower upper,
  (forall x, ok x -> lower <= f x <= upper) -> lower <= L f <= upper.

(** Outcomes are chosen from two texts by any random functions, and laws of a release differ by at most [k], whatever
    the outcomes: then the releases of the two texts differ by at most [k]. *)
Theorem mixture_private {A} (ok : A -> Prop) L L' f k : 0 < k -> averages ok L -> averages ok L' ->
  (forall x y, ok x -> ok y -> near k (f x) (f y)) -> near k (L f) (L' f).
Proof.
  intros Hk HL HL' Hf.
  assert (X : forall L L', averages ok L -> averages ok L' -> L f <= k * L' f).
  { clear L L' HL HL'. intros L L' HL HL'. destruct (Rle_dec (L f) (k * L' f)) as [|N]; [assumption|].
    (* Not even one value can then have [ok], and an expectation over none would have any bounds. *)
    exfalso. destruct (HL f 1 0); [|lra]. intros z Hz. exfalso. apply N.
    assert (B : forall y, ok y -> L f <= k * f y).
    { intros y Hy. apply (HL f (/ k * f y)). intros x Hx. destruct (Hf x y Hx Hy) as [P Q].
      split; [|exact P]. apply Rmult_le_reg_l with k; [assumption|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
    assert (C : / k * L f <= L' f).
    { apply (HL' f (/ k * L f) (k * f z)). intros y Hy. specialize (B y Hy). destruct (Hf y z Hy Hz) as [P _].
      split; [|exact P]. apply Rmult_le_reg_l with k; [assumption|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
    apply Rmult_le_compat_l with (r := k) in C; [|lra]. rewrite <- Rmult_assoc, Rinv_r in C by lra. lra. }
  split; apply X; assumption.
Qed.

(** Any weights of [n] outcomes whose sum is 1 are such an expectation. *)
Theorem weights_average n p : (forall i, (i < n)%nat -> 0 <= p i) -> sum_n p n = 1 ->
  averages (fun i => i < n)%nat (fun f => sum_n (fun i => p i * f i) n).
Proof.
  intros Hp H1 f lower upper Hf.
  assert (E : forall c, sum_n (fun i => p i * c) n = c).
  { intros c. rewrite (sum_ext _ (fun i => c * p i)) by (intros; ring). rewrite sum_scal, H1; ring. }
  split; [rewrite <- (E lower) | rewrite <- (E upper)]; apply sum_le; intros i Hi;
    (apply Rmult_le_compat_l; [apply Hp; assumption | apply Hf; assumption]).
Qed.

(** What a draw gives lies between bounds, whether of real numbers or of random words. *)
Definition bounded (D : Z -> (Z -> R) -> R) : Prop := forall n f c, (0 < n)%Z ->
  ((forall i, c <= f i) -> c <= D n f) /\ ((forall i, f i <= c) -> D n f <= c).

Lemma uniform_bounded : bounded uniform.
Proof.
  intros n f c Hn. pose proof (uniform_const n c Hn) as E.
  split; intros H; [apply Rle_trans with (1 := Req_le _ _ (eq_sym E)) | apply Rle_trans with (2 := Req_le _ _ E)];
    (apply uniform_le; [lia | intros i _; apply H]).
Qed.

Lemma draw_bounded : bounded draw.
Proof.
  intros n f c _. unfold draw, word. split; intros H;
    (apply uniform_bounded; [reflexivity|]; intros high; apply uniform_bounded; [reflexivity|]; intros low; apply H).
Qed.

Lemma reservoir_averages {A} D places (ok : A -> Prop) nothing lines : bounded D -> (0 < places)%Z -> ok nothing ->
  Forall ok lines -> averages ok (reservoir_by D places nothing lines).
Proof.
  intros HD Hk Hn Hl f lower upper Hf. unfold reservoir_by.
  assert (X : forall place lines, Forall ok lines -> forall line best, (0 <= line)%Z -> ok best ->
    lower <= add_lines D places place line lines best f <= upper).
  { clear lines Hl. intros place lines Hl. induction Hl as [|x lines Hx Hl IH]; intros line best H0 Hb; [apply Hf, Hb|].
    cbn [add_lines].
    split; (apply HD; [lia|]; intros drawn; apply IH; [lia|]; destruct (_ || _)%bool; assumption). }
  split; (apply HD; [assumption|]; intros place; apply X; [assumption | lia | assumption]).
Qed.

(** ** Some lines *)

(** Two lists of lines that differ in [j] lines, each exchanged, added or removed. *)
Inductive differ {A} : nat -> list A -> list A -> Prop :=
  | differ_none : differ 0 nil nil
  | differ_same x j l l' : differ j l l' -> differ j (x :: l) (x :: l')
  | differ_exchanged x y j l l' : differ j l l' -> differ (S j) (x :: l) (y :: l')
  | differ_added y j l l' : differ j l l' -> differ (S j) l (y :: l')
  | differ_removed x j l l' : differ j l l' -> differ (S j) (x :: l) l'.

Lemma differ_sym {A} j (l l' : list A) : differ j l l' -> differ j l' l.
Proof. induction 1; constructor; assumption. Qed.

Lemma Forall_repeat {A} (P : A -> Prop) x n : P x -> Forall P (repeat x n).
Proof. intros H. induction n; constructor; assumption. Qed.

(** The smallest of some numbers. *)
Lemma smallest {A} (f : A -> R) x l : exists y, In y (x :: l) /\ forall z, In z (x :: l) -> f y <= f z.
Proof.
  revert x. induction l as [|x' l IH]; intros x.
  - exists x. split; [left; reflexivity|]. intros z [->|[]]. lra.
  - destruct (IH x') as (y & I & H). destruct (Rle_dec (f x) (f y)).
    + exists x. split; [left; reflexivity|]. intros z [<-|Hz]; [lra|]. specialize (H z Hz). lra.
    + exists y. split; [right; exact I|]. intros z [<-|Hz]; [lra | exact (H z Hz)].
Qed.

(** The means of two lists with [c] common values, whose sum is [g], and [d], [d'] others, at most [j]. *)
Lemma two_means c d d' j k v e g s s' : 0 <= c -> 0 <= d <= j -> 0 <= d' <= j -> 0 < k -> k <= c + d -> k <= c + d' ->
  0 <= v -> 1 <= e -> c * v <= g <= c * (e * v) -> s <= d * (e * v) -> d' * v <= s' ->
  (g + s) / (c + d) <= (1 + j * (e - 1) / k) * ((g + s') / (c + d')).
Proof.
  intros Hc Hd Hd' Hk HN HN' Hv He Hg Hs Hs'. set (t := j * (e - 1) / k).
  set (n := c + d) in *. set (n' := c + d') in *.
  assert (T : j * (e - 1) = t * k) by (unfold t; field; lra).
  assert (T0 : 0 <= t) by (unfold t; apply Rmult_le_pos; [nra | left; apply Rinv_0_lt_compat; assumption]).
  clearbody t.
  assert (T1 : d * (e - 1) <= t * n) by nra. assert (T2 : d' * (e - 1) <= t * n') by nra.
  apply Rle_trans with ((g + d * (e * v)) / n).
  { apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | lra]. }
  apply Rle_trans with ((1 + t) * ((g + d' * v) / n')).
  2: { apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | lra]. }
  (* Linear in g: the ends of its range. *)
  assert (M : n' * (g + d * (e * v)) <= (1 + t) * n * (g + d' * v)).
  { assert (L : n' * (c * v + d * (e * v)) <= (1 + t) * n * (c * v + d' * v)).
    { replace (c * v + d * (e * v)) with (v * (n + d * (e - 1))) by (unfold n; ring).
      replace (c * v + d' * v) with (v * n') by (unfold n'; ring).
      replace ((1 + t) * n * (v * n')) with (n' * v * (n + t * n)) by ring.
      replace (n' * (v * (n + d * (e - 1)))) with (n' * v * (n + d * (e - 1))) by ring.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | lra]. }
    assert (U : n' * (c * (e * v) + d * (e * v)) <= (1 + t) * n * (c * (e * v) + d' * v)).
    { replace (c * (e * v) + d * (e * v)) with (n * (e * v)) by (unfold n; ring).
      replace (c * (e * v) + d' * v) with (v * (e * n' - d' * (e - 1))) by (unfold n'; ring).
      replace (n' * (n * (e * v))) with (n * v * (e * n')) by ring.
      replace ((1 + t) * n * (v * (e * n' - d' * (e - 1)))) with (n * v * ((1 + t) * (e * n' - d' * (e - 1)))) by ring.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|].
      assert (0 <= t * (n' - d') * (e - 1)).
      { apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; [assumption | unfold n'; lra]. }
      nra. }
    destruct (Rle_dec n' ((1 + t) * n)); nra. }
  apply Rmult_le_reg_r with (n * n'); [apply Rmult_lt_0_compat; lra|].
  replace ((g + d * (e * v)) / n * (n * n')) with (n' * (g + d * (e * v))) by (field; lra).
  replace ((1 + t) * ((g + d' * v) / n') * (n * n')) with ((1 + t) * n * (g + d' * v)) by (field; lra).
  exact M.
Qed.

(** [c] common lines, whose sum is [g], and [d], [d'] others. *)
Lemma differ_parts {A} (f : A -> R) v u j l l' : differ j l l' -> Forall (fun x => v <= f x <= u) l ->
  Forall (fun x => v <= f x <= u) l' -> exists c d d' g s s',
  length l = (c + d)%nat /\ length l' = (c + d')%nat /\ (d <= j)%nat /\ (d' <= j)%nat /\
  sum (map f l) = g + s /\ sum (map f l') = g + s' /\
  INR c * v <= g <= INR c * u /\ s <= INR d * u /\ INR d' * v <= s'.
Proof.
  induction 1 as [|x j l l' H IH|x y j l l' H IH|y j l l' H IH|x j l l' H IH]; intros K K';
    try (apply Forall_cons_iff in K as [Kx K]); try (apply Forall_cons_iff in K' as [Ky K']);
    try (destruct (IH K K')
      as (c & d & d' & g & s & s' & L & L' & D & D' & S & S' & G & B & B')).
  - exists 0%nat, 0%nat, 0%nat, 0, 0, 0. unfold sum; simpl. repeat split; lia || lra.
  - exists (1 + c)%nat, d, d', (f x + g), s, s'. unfold sum in *.
    cbn [length map fold_right Nat.add]. rewrite ?S_INR. repeat split; lia || lra.
  - exists c, (1 + d)%nat, (1 + d')%nat, g, (f x + s), (f y + s').
    unfold sum in *.
    cbn [length map fold_right Nat.add]. rewrite ?S_INR. repeat split; lia || lra.
  - exists c, d, (1 + d')%nat, g, s, (f y + s'). unfold sum in *.
    cbn [length map fold_right Nat.add]. rewrite ?S_INR. repeat split; lia || lra.
  - exists c, (1 + d)%nat, d', g, (f x + s), s'. unfold sum in *.
    cbn [length map fold_right Nat.add]. rewrite ?S_INR. repeat split; lia || lra.
Qed.

(** If a release differs by at most [e], whatever outcome is kept, then it differs by at most 1 + j * (e - 1) / k for
    [j] lines. *)
Theorem some_lines {A} (ok : A -> Prop) places nothing l l' f e j : (0 < places)%Z -> 1 <= e -> ok nothing ->
  Forall ok l -> Forall ok l' -> (forall x, ok x -> 0 <= f x) -> (forall x y, ok x -> ok y -> near e (f x) (f y)) ->
  differ j l l' ->
  near (1 + INR j * (e - 1) / IZR places)
    (reservoir_by uniform places nothing l f) (reservoir_by uniform places nothing l' f).
Proof.
  intros Hk He On Ol Ol' H0 Hf H.
  assert (X : forall l l', Forall ok l -> Forall ok l' -> differ j l l' -> reservoir_by uniform places nothing l f
    <= (1 + INR j * (e - 1) / IZR places) * reservoir_by uniform places nothing l' f);
    [|split; apply X; try assumption; apply differ_sym; assumption].
  clear l l' Ol Ol' H. intros l l' Ol Ol' H. rewrite !reservoir_law by assumption.
  destruct (smallest f nothing (l ++ l')) as (y & Iy & Hy). set (v := f y) in *.
  assert (Al : Forall ok (nothing :: l ++ l')) by (constructor; [|apply Forall_app]; auto).
  pose proof (proj1 (Forall_forall _ _) Al) as Ao.
  assert (V0 : 0 <= v) by (apply H0, Ao, Iy).
  assert (B : forall x, In x (nothing :: l ++ l') -> v <= f x <= e * v)
    by (intros x Ix; split; [apply Hy, Ix | apply (Hf x y); auto]).
  clearbody v. destruct (differ_parts f v (e * v) j l l' H)
    as (c & d & d' & g & s & s' & L & L' & D & D' & S & S' & G & U & U').
  1, 2: apply Forall_forall; intros x Ix; apply B; right; apply in_or_app; auto.
  destruct (B nothing ltac:(left; reflexivity)) as [N1 N2].
  unfold equally_likely, places_without. rewrite !map_app, !sum_app, !map_repeat, !sum_repeat, S, S'.
  set (p := (Z.to_nat places - length l)%nat). set (p' := (Z.to_nat places - length l')%nat).
  set (q := Nat.min p p').
  assert (E : INR p = INR q + INR (p - q)) by (rewrite <- plus_INR; f_equal; lia).
  assert (E' : INR p' = INR q + INR (p' - q)) by (rewrite <- plus_INR; f_equal; lia).
  replace (Z.max places (Z.of_nat (length l))) with (Z.of_nat ((c + q) + (d + (p - q)))) by lia.
  replace (Z.max places (Z.of_nat (length l'))) with (Z.of_nat ((c + q) + (d' + (p' - q)))) by lia.
  rewrite <- !INR_IZR_INZ, !plus_INR.
  replace (g + s + INR p * f nothing) with ((g + INR q * f nothing) + (s + INR (p - q) * f nothing))
    by (rewrite E; ring).
  replace (g + s' + INR p' * f nothing) with ((g + INR q * f nothing) + (s' + INR (p' - q) * f nothing))
    by (rewrite E'; ring).
  assert (K : IZR places = INR (Z.to_nat places)) by (rewrite INR_IZR_INZ, Z2Nat.id by lia; reflexivity).
  assert (J : forall a b, (a + b <= j)%nat -> 0 <= INR a + INR b <= INR j).
  { intros a b Hab. rewrite <- plus_INR. split; [apply pos_INR | apply le_INR, Hab]. }
  assert (M : forall a b, (Z.to_nat places <= c + q + (a + b))%nat -> IZR places <= INR c + INR q + (INR a + INR b)).
  { intros a b Hab. rewrite K, <- !plus_INR. apply le_INR, Hab. }
  pose proof (pos_INR c). pose proof (pos_INR q). pose proof (pos_INR (p - q)). pose proof (pos_INR (p' - q)).
  apply two_means with v; try assumption; try lra.
  - apply J; lia.
  - apply J; lia.
  - apply IZR_lt; assumption.
  - apply M; lia.
  - apply M; lia.
  - split; nra.
  - nra.
  - nra.
Qed.

(** The bound is attained: by [j] lines that are exchanged, and by [j] lines that are added, or removed. *)
Theorem some_lines_attained {A} places (x nothing : A) f e j : (Z.of_nat j <= places)%Z -> (0 < places)%Z ->
  f x = e * f nothing ->
  differ j (repeat x j) (repeat nothing j) /\ differ j (repeat x j) nil /\
  reservoir_by uniform places nothing (repeat x j) f
  = (1 + INR j * (e - 1) / IZR places) * reservoir_by uniform places nothing (repeat nothing j) f /\
  reservoir_by uniform places nothing (repeat x j) f
  = (1 + INR j * (e - 1) / IZR places) * reservoir_by uniform places nothing nil f.
Proof.
  intros Hj Hk E. repeat split; [induction j; simpl; constructor; apply IHj; lia
    | clear; induction j; simpl; constructor; assumption | |];
    rewrite !reservoir_law by assumption; unfold equally_likely, places_without;
    rewrite !map_app, !sum_app, !map_repeat, !sum_repeat, !repeat_length, ?Z.max_l by (simpl; lia);
    rewrite E; cbn [map length]; rewrite ?Nat.sub_0_r, minus_INR by lia;
    assert (K : INR (Z.to_nat places) = IZR places) by (rewrite INR_IZR_INZ, Z2Nat.id by lia; reflexivity);
    rewrite K; assert (0 < IZR places) by (apply IZR_lt; assumption); unfold sum; cbn [fold_right]; field; lra.
Qed.

(** ** Random words *)

(** Factors [1 - t] and 1 / (1 - t) apart. Errors add up. *)
Definition within (t u v : R) : Prop := (1 - t) * u <= v /\ (1 - t) * v <= u.

Lemma within_draw n t f g : (0 < n <= two64)%Z -> 0 <= t -> delta n + t <= 1 ->
  (forall i, 0 <= f i /\ 0 <= g i /\ within t (f i) (g i)) -> within (delta n + t) (uniform n f) (draw n g).
Proof.
  intros Hn Ht Hd H. destruct (delta_range n Hn) as [D0 D1].
  destruct (draw_within n n g ltac:(lia) ltac:(lia) ltac:(intros; apply H)) as [A B].
  assert (F : 0 <= uniform n f) by (apply uniform_nonneg; [lia | intros; apply H]).
  assert (G : 0 <= uniform n g) by (apply uniform_nonneg; [lia | intros; apply H]).
  assert (X : (1 - t) * uniform n f <= uniform n g).
  { rewrite <- uniform_scal. apply uniform_le; [lia|]. intros i _. apply H. }
  assert (Y : (1 - t) * uniform n g <= uniform n f).
  { rewrite <- uniform_scal. apply uniform_le; [lia|]. intros i _. apply H. }
  set (d := delta n) in *. clearbody d. set (u := uniform n f) in *. set (w := uniform n g) in *.
  set (z := draw n g) in *. clearbody u w z. split.
  - apply Rle_trans with ((1 - d) * ((1 - t) * u)); [assert (0 <= d * t * u) by (apply Rmult_le_pos; nra); nra|].
    apply Rle_trans with ((1 - d) * w); [|assumption].
    apply Rmult_le_compat_l; lra.
  - assert (Z0 : 0 <= z) by nra.
    apply Rle_trans with ((1 - t) * ((1 - d) * z)); [assert (0 <= d * t * z) by (apply Rmult_le_pos; nra); nra|].
    apply Rle_trans with ((1 - t) * w); [|assumption].
    apply Rmult_le_compat_l; [lra|]. apply Rle_trans with ((1 - d) * ((1 + d) * w)); [|nra].
    apply Rmult_le_compat_l; lra.
Qed.

(** The errors of the draws of [m] lines after [line]. *)
Fixpoint errors (line : Z) (m : nat) : R :=
  match m with O => 0 | S m => delta (line + 1) + errors (line + 1) m end.

Lemma errors_sum m : forall line, 2 * errors line m = delta (2 * Z.of_nat m * line + Z.of_nat m * (Z.of_nat m + 1)).
Proof.
  induction m as [|m IH]; intros line; [cbn [errors]; unfold delta; simpl; unfold Rdiv; ring|].
  cbn [errors]. rewrite Rmult_plus_distr_l, IH. unfold delta.
  replace (2 * (IZR (line + 1) / IZR two128)) with (IZR (2 * (line + 1)) / IZR two128)
    by (rewrite mult_IZR; unfold Rdiv; ring).
  unfold Rdiv. rewrite <- Rmult_plus_distr_r, <- plus_IZR. do 2 f_equal. lia.
Qed.

Lemma delta_nonneg n : (0 <= n)%Z -> 0 <= delta n.
Proof.
  intros H. unfold delta. apply Rmult_le_pos; [apply IZR_le; assumption|].
  left. apply Rinv_0_lt_compat, IZR_lt. reflexivity.
Qed.

Lemma errors_nonneg m : forall line, (0 <= line)%Z -> 0 <= errors line m.
Proof.
  induction m as [|m IH]; intros line H; cbn [errors]; [lra|].
  pose proof (delta_nonneg (line + 1) ltac:(lia)). pose proof (IH (line + 1)%Z ltac:(lia)). lra.
Qed.

(** A reservoir of random words, of at most [2^32 - 1] lines and [2^16 - 1] places, is within 2^-65 of the ideal. *)
Definition reservoir_error : R := / IZR (2 ^ 65).

Lemma errors_small places m : (0 < places < 2 ^ 16)%Z -> (Z.of_nat m < 2 ^ 32)%Z ->
  delta places + errors 0 m <= reservoir_error.
Proof.
  intros Hk Hm. pose proof (errors_sum m 0) as E. set (n := Z.of_nat m) in *.
  assert (L : (2 * places + (2 * n * 0 + n * (n + 1)) <= 2 ^ 64)%Z).
  { assert (n * (n + 1) <= (2 ^ 32 - 1) * 2 ^ 32)%Z by (apply Z.mul_le_mono_nonneg; lia). lia. }
  apply IZR_le in L. rewrite plus_IZR, mult_IZR in L. unfold delta in *.
  set (s := IZR (2 * n * 0 + n * (n + 1))) in *. set (x := errors 0 m) in *. clearbody s x.
  assert (P : 0 < IZR two128) by (apply IZR_lt; reflexivity).
  assert (Q : reservoir_error = IZR (2 ^ 64) / IZR two128 / 2).
  { unfold reservoir_error. replace two128 with (2 ^ 64 * 2 ^ 64)%Z by reflexivity.
    replace (2 ^ 65)%Z with (2 ^ 64 * 2)%Z by reflexivity. rewrite !mult_IZR.
    assert (0 < IZR (2 ^ 64)) by (apply IZR_lt; reflexivity). field. lra. }
  rewrite Q. assert (I : 0 < / IZR two128) by (apply Rinv_0_lt_compat; assumption).
  unfold Rdiv in *. nra.
Qed.

Section Words.
Context {A : Type}.
Variables (ok : A -> Prop) (f : A -> R).
Hypothesis H0 : forall x, ok x -> 0 <= f x.

Lemma add_lines_nonneg D places place lines : bounded D -> Forall ok lines -> forall line best, (0 <= line)%Z ->
  ok best -> 0 <= add_lines D places place line lines best f.
Proof.
  intros HD Hl. induction Hl as [|x lines Hx Hl IH]; intros line best Hi Hb; [apply H0, Hb|].
  cbn [add_lines]. apply HD; [lia|]. intros drawn. apply IH; [lia|]. destruct (_ || _)%bool; assumption.
Qed.

Lemma add_lines_within places place lines : Forall ok lines -> forall line best, (0 <= line)%Z ->
  (line + Z.of_nat (length lines) <= two64)%Z -> ok best -> errors line (length lines) <= 1 ->
  within (errors line (length lines)) (add_lines uniform places place line lines best f)
    (add_lines draw places place line lines best f).
Proof.
  intros Hl. induction Hl as [|x lines Hx Hl IH]; intros line best Hi Hm Hb He.
  - cbn [add_lines length errors]. unfold within. lra.
  - cbn [length errors] in *. cbn [add_lines].
    pose proof (errors_nonneg (length lines) (line + 1) ltac:(lia)).
    pose proof (delta_nonneg (line + 1) ltac:(lia)).
    apply within_draw; [lia | assumption | assumption |]. intros drawn.
    set (best' := if (_ || _)%bool then x else best).
    assert (ok best') by (unfold best'; destruct (_ || _)%bool; assumption).
    repeat split; try (apply add_lines_nonneg; try assumption; try lia; apply uniform_bounded || apply draw_bounded);
      (apply IH; try assumption; try lia; lra).
Qed.

Theorem reservoir_within places nothing lines : (0 < places < 2 ^ 16)%Z -> (Z.of_nat (length lines) < 2 ^ 32)%Z ->
  ok nothing -> Forall ok lines ->
  0 <= reservoir_by uniform places nothing lines f /\ 0 <= reservoir places nothing lines f /\
  within reservoir_error (reservoir_by uniform places nothing lines f) (reservoir places nothing lines f).
Proof.
  intros Hk Hm Hn Hl. pose proof (errors_small places _ Hk Hm) as E.
  assert (T : (2 ^ 32 < two64)%Z) by reflexivity.
  assert (R1 : reservoir_error <= 1).
  { unfold reservoir_error. apply Rle_trans with (/ 1); [|rewrite Rinv_1; lra].
    apply Rinv_le_contravar; [lra | apply (IZR_le 1); discriminate]. }
  pose proof (errors_nonneg (length lines) 0 ltac:(lia)) as E0.
  pose proof (delta_nonneg places ltac:(lia)) as D0.
  assert (P : forall D, bounded D -> 0 <= reservoir_by D places nothing lines f).
  { intros D HD. unfold reservoir_by. apply HD; [lia|]. intros place. apply add_lines_nonneg; assumption || lia. }
  pose proof (P uniform uniform_bounded) as P1. pose proof (P draw draw_bounded) as P2.
  split; [exact P1 | split; [exact P2|]].
  assert (W : within (delta places + errors 0 (length lines)) (reservoir_by uniform places nothing lines f)
    (reservoir places nothing lines f)).
  { unfold reservoir, reservoir_by. apply within_draw; [lia | assumption | lra |]. intros place.
    repeat split; try (apply add_lines_nonneg; try assumption; try lia; apply uniform_bounded || apply draw_bounded);
      (apply add_lines_within; try assumption; try lia; lra). }
  destruct W as [W W']. split.
  - apply Rle_trans with (2 := W). apply Rmult_le_compat_r; lra.
  - apply Rle_trans with (2 := W'). unfold reservoir. apply Rmult_le_compat_r; [exact P2 | lra].
Qed.
End Words.

(** The reservoirs of two texts and the two draws of a release cost less than one factor 1 + 2^-62. *)
Theorem all_draws_paid : high <= low * ((1 - reservoir_error) * (1 - reservoir_error)) * (1 + spare).
Proof.
  unfold high, low, delta, spare, reservoir_error.
  assert (A : 0 < IZR two128) by (apply IZR_lt; reflexivity).
  assert (B : 0 < IZR (2 ^ 62)) by (apply IZR_lt; reflexivity).
  assert (C : 0 < IZR (2 ^ 65)) by (apply IZR_lt; reflexivity).
  assert (K : ((two128 + two64) * (two128 + many) * 2 ^ 62 * (2 ^ 65 * 2 ^ 65)
    <= (two128 - two64) * (two128 - many) * ((2 ^ 65 - 1) * (2 ^ 65 - 1)) * (2 ^ 62 + 1))%Z)
    by (vm_compute; discriminate).
  apply IZR_le in K. rewrite !mult_IZR, !plus_IZR, !minus_IZR in K.
  set (a := IZR two128) in *; set (b := IZR (2 ^ 62)) in *; set (c := IZR (2 ^ 65)) in *; set (m := IZR two64) in *;
    set (n := IZR many) in *.
  clearbody a b c m n. apply Rmult_le_reg_r with (a * a * b * (c * c)).
  { repeat apply Rmult_lt_0_compat; assumption. }
  replace ((1 + m / a) * (1 + n / a) * (a * a * b * (c * c))) with ((a + m) * (a + n) * b * (c * c)) by (field; lra).
  replace ((1 - m / a) * (1 - n / a) * ((1 - / c) * (1 - / c)) * (1 + / b) * (a * a * b * (c * c)))
    with ((a - m) * (a - n) * ((c - 1) * (c - 1)) * (b + 1)) by (field; lra).
  exact K.
Qed.

(** ** Releases of the kept outcome *)

(** [ideal] and [law] are what a release has of real numbers and of random words. All draws together cost 1 + 2^-62. *)
Lemma lines_near {A} (ok : A -> Prop) places nothing l l' ideal law rho j : (0 < places < 2 ^ 16)%Z -> 1 <= rho ->
  ok nothing -> Forall ok l -> Forall ok l' -> (Z.of_nat (length l) < 2 ^ 32)%Z -> (Z.of_nat (length l') < 2 ^ 32)%Z ->
  (forall x, ok x -> low * ideal x <= law x <= high * ideal x /\ 0 <= ideal x) ->
  (forall x y, ok x -> ok y -> near rho (ideal x) (ideal y)) -> differ j l l' ->
  near ((1 + spare) * (1 + INR j * (rho - 1) / IZR places))
    (reservoir places nothing l law) (reservoir places nothing l' law).
Proof.
  intros Hk Hr On Ol Ol' Hm Hm' B N H.
  assert (X : forall l l', Forall ok l -> Forall ok l' -> (Z.of_nat (length l) < 2 ^ 32)%Z ->
    (Z.of_nat (length l') < 2 ^ 32)%Z -> differ j l l' -> reservoir places nothing l law
    <= (1 + spare) * (1 + INR j * (rho - 1) / IZR places) * reservoir places nothing l' law);
    [|split; apply X; try assumption; apply differ_sym; assumption].
  clear l l' Ol Ol' Hm Hm' H. intros l l' Ol Ol' Hm Hm' H.
  pose proof low_pos as L0. pose proof high_pos as H0. pose proof spare_pos as S0.
  assert (P : forall x, ok x -> 0 <= law x) by (intros x Hx; destruct (B x Hx); nra).
  destruct (some_lines ok places nothing l l' ideal rho j ltac:(lia) Hr On Ol Ol' ltac:(apply B) N H) as [S _].
  destruct (reservoir_within ok law P places nothing l Hk Hm On Ol) as (U0 & R0 & W & W').
  destruct (reservoir_within ok law P places nothing l' Hk Hm' On Ol') as (U0' & R0' & V & V').
  assert (I : forall c g h lines, Forall ok lines -> (forall x, ok x -> g x <= c * h x) ->
    reservoir_by uniform places nothing lines g <= c * reservoir_by uniform places nothing lines h).
  { intros c g h lines Hl Hgh. rewrite !reservoir_law by lia. unfold Rdiv. rewrite <- Rmult_assoc.
    apply Rmult_le_compat_r; [apply inv_nonneg; lia|].
    assert (F : Forall ok (equally_likely places nothing lines))
      by (apply Forall_app; split; [assumption | apply Forall_repeat; assumption]).
    unfold sum. induction F as [|x m Hx F IH]; cbn [map fold_right]; [lra|]. specialize (Hgh x Hx). lra. }
  pose proof (I high law ideal l Ol ltac:(apply B)) as A1.
  assert (A2 : low * reservoir_by uniform places nothing l' ideal <= reservoir_by uniform places nothing l' law).
  { assert (T : reservoir_by uniform places nothing l' ideal <= / low * reservoir_by uniform places nothing l' law).
    { apply I; [assumption|]. intros x Hx. destruct (B x Hx) as [[T _] _].
      apply Rmult_le_reg_l with low; [assumption|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
    apply Rmult_le_compat_l with (r := low) in T; [|lra]. rewrite <- Rmult_assoc, Rinv_r in T by lra. lra. }
  pose proof all_draws_paid as D.
  assert (K0 : 0 <= 1 + INR j * (rho - 1) / IZR places).
  { assert (0 <= INR j * (rho - 1) / IZR places); [|lra]. apply Rmult_le_pos; [|apply inv_nonneg; lia].
    apply Rmult_le_pos; [apply pos_INR | lra]. }
  assert (E : 0 < 1 - reservoir_error).
  { unfold reservoir_error. assert (/ IZR (2 ^ 65) < / 1); [|rewrite Rinv_1 in *; lra].
    apply Rinv_lt_contravar; [rewrite Rmult_1_l; apply IZR_lt; reflexivity | apply (IZR_lt 1); reflexivity]. }
  set (K := 1 + INR j * (rho - 1) / IZR places) in *. clearbody K.
  set (t := 1 - reservoir_error) in *. clearbody t.
  set (a := reservoir places nothing l law) in *. set (a' := reservoir places nothing l' law) in *.
  set (u := reservoir_by uniform places nothing l law) in *.
  set (u' := reservoir_by uniform places nothing l' law) in *.
  set (i := reservoir_by uniform places nothing l ideal) in *.
  set (i' := reservoir_by uniform places nothing l' ideal) in *.
  apply Rmult_le_reg_l with (low * (t * t)); [apply Rmult_lt_0_compat; [exact L0 | nra]|].
  assert (C1 : t * a <= high * (K * i')).
  { apply Rle_trans with (1 := W'). apply Rle_trans with (1 := A1). apply Rmult_le_compat_l; [exact H0 | exact S]. }
  assert (C2 : t * (low * i') <= a').
  { apply Rle_trans with (2 := V). apply Rmult_le_compat_l; lra. }
  replace (low * (t * t) * a) with (low * t * (t * a)) by ring.
  apply Rle_trans with (low * t * (high * (K * i'))).
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | exact C1]. }
  replace (low * t * (high * (K * i'))) with (high * K * (t * (low * i'))) by ring.
  apply Rle_trans with (high * K * a').
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; assumption | exact C2]. }
  replace (low * (t * t) * ((1 + spare) * K * a')) with (low * (t * t) * (1 + spare) * (K * a')) by ring.
  rewrite Rmult_assoc. apply Rmult_le_compat_r; [apply Rmult_le_pos; assumption | exact D].
Qed.

(** [OneBest::draw] with the ratio of [C]: the probability of outcome [r]. *)
Definition response (C : Z) (outcomes r best : nat) : R := selects Exponential C 2 (one_best best outcomes) r.

Lemma response_within C outcomes r b : (0 < C < two64)%Z -> (Z.of_nat outcomes <= few)%Z -> (r < outcomes)%nat ->
  let m := share (fractions C (2 ^ 48) 2 (one_best b outcomes)) r in
  low * m <= response C outcomes r b <= high * m /\ 0 <= m.
Proof.
  intros HC Hm Hr.
  assert (L : length (one_best b outcomes) = outcomes) by (unfold one_best; rewrite map_length; apply seq_length).
  apply (ideal_within Exponential C 2 (one_best b outcomes) r HC); try rewrite L; assumption || lia.
Qed.

(** [drawn_ratio] *)
Definition drawn_constant (micro places : Z) : Z :=
  let c := per_unit_1 micro in
  let whole := (c + places * (two64 - c))%Z in
  Z.min (two64 - 1) (up (c * two64) whole).

(** A release for any two texts and for [j] lines, with the ratio of [C]. *)
Section Response.
Variables (C places : Z) (outcomes nothing r : nat) (l l' : list nat).
Hypothesis HC : (0 < C < two64)%Z.
Hypothesis Hk : (0 < places < 2 ^ 16)%Z.
Hypothesis Hm : (Z.of_nat outcomes <= few)%Z.
Let ok (b : nat) : Prop := (b < outcomes)%nat.
Hypothesis Hr : ok r.
Hypothesis Hn : ok nothing.
Hypothesis Hl : Forall ok l.
Hypothesis Hl' : Forall ok l'.

Lemma all_near :
  near ((1 + spare) * rho_of C) (reservoir places nothing l (response C outcomes r))
    (reservoir places nothing l' (response C outcomes r)).
Proof.
  pose proof (rho_ge_1 C HC) as R1. pose proof spare_pos as S0.
  apply (mixture_private ok); [nra | | |].
  1, 2: apply reservoir_averages; try assumption; [apply draw_bounded | lia].
  intros x y Hx Hy. destruct (response_within C outcomes r x HC Hm Hr) as [B P].
  destruct (response_within C outcomes r y HC Hm Hr) as [B' P'].
  apply (near_bits (rho_of C) _ _ _ _ ltac:(lra) P P' (whole_text_step C outcomes HC x y r Hx Hy Hr) B B').
Qed.

Lemma some_near j : (Z.of_nat (length l) < 2 ^ 32)%Z -> (Z.of_nat (length l') < 2 ^ 32)%Z -> differ j l l' ->
  near ((1 + spare) * (1 + INR j * (rho_of C - 1) / IZR places))
    (reservoir places nothing l (response C outcomes r)) (reservoir places nothing l' (response C outcomes r)).
Proof.
  intros L L' H. apply (lines_near ok) with (fun b => share (fractions C (2 ^ 48) 2 (one_best b outcomes)) r);
    try assumption.
  - apply rho_ge_1; assumption.
  - intros x Hx. apply response_within; assumption.
  - intros x y Hx Hy. apply whole_text_step; assumption.
Qed.
End Response.

Lemma near_more k k' u v : k <= k' -> 0 <= u -> 0 <= v -> near k u v -> near k' u v.
Proof.
  intros Hk Hu Hv [A B].
  split; [apply Rle_trans with (1 := A) | apply Rle_trans with (1 := B)]; apply Rmult_le_compat_r; assumption.
Qed.

Lemma released_nonneg C places outcomes nothing r lines : (0 < C < two64)%Z -> (0 < places)%Z ->
  (Z.of_nat outcomes <= few)%Z -> (r < outcomes)%nat -> 0 <= reservoir places nothing lines (response C outcomes r).
Proof.
  intros HC Hk Hm Hr. unfold reservoir, reservoir_by. apply draw_bounded; [assumption|]. intros place.
  apply (add_lines_nonneg (fun _ => True)); try apply draw_bounded; try lia; try exact I.
  - intros x _. destruct (response_within C outcomes r x HC Hm Hr). pose proof low_pos. nra.
  - apply Forall_forall. intros; exact I.
Qed.

Lemma whole_text_response micro outcomes r :
  (fun b => whole_text micro b outcomes r) = response (per_unit_1 micro) outcomes r.
Proof. unfold whole_text, response. reflexivity. Qed.

(** All lines exchanged for any others: e^eps, for every eps from 0.000001 to 1000, at most 65 536 outcomes ("nothing
    known" is one) and any number of places. *)
Theorem all_lines_private micro places outcomes nothing l l' r : (1 <= micro <= max_micro)%Z ->
  (0 < places < 2 ^ 16)%Z -> (Z.of_nat outcomes <= few)%Z -> (r < outcomes)%nat -> (nothing < outcomes)%nat ->
  Forall (fun b => b < outcomes)%nat l -> Forall (fun b => b < outcomes)%nat l' ->
  near (exp (eps micro))
    (reservoir places nothing l (fun b => whole_text micro b outcomes r))
    (reservoir places nothing l' (fun b => whole_text micro b outcomes r)).
Proof.
  intros Hu Hk Hm Hr Hn Hl Hl'. pose proof (per_unit_range micro) as HC. pose proof (per_unit_pays micro Hu) as Pays.
  rewrite whole_text_response. set (C := per_unit_1 micro) in *. clearbody C.
  refine (near_more _ _ _ _ Pays _ _ (all_near C places outcomes nothing r l l' HC Hk Hm Hr Hn Hl Hl'));
    (apply released_nonneg; assumption || lia).
Qed.

(** [j] lines exchanged, added or removed: 1 + j * (e^eps - 1) / k, but for 2^-62. ([line_epsilon] of the code returns
    at least a micro-unit more than the logarithm of the bound.) *)
Theorem lines_private micro places outcomes nothing l l' r j : (1 <= micro <= max_micro)%Z ->
  (0 < places < 2 ^ 16)%Z -> (Z.of_nat outcomes <= few)%Z -> (r < outcomes)%nat -> (nothing < outcomes)%nat ->
  Forall (fun b => b < outcomes)%nat l -> Forall (fun b => b < outcomes)%nat l' ->
  (Z.of_nat (length l) < 2 ^ 32)%Z -> (Z.of_nat (length l') < 2 ^ 32)%Z ->
  differ j l l' -> (Z.of_nat j <= places)%Z ->
  near (1 + INR j * (exp (eps micro) - 1) / IZR places + / IZR (2 ^ 62))
    (reservoir places nothing l (fun b => whole_text micro b outcomes r))
    (reservoir places nothing l' (fun b => whole_text micro b outcomes r)).
Proof.
  intros Hu Hk Hm Hr Hn Hl Hl' L L' H Hj.
  pose proof (per_unit_range micro) as HC. pose proof (per_unit_pays micro Hu) as Pays.
  rewrite whole_text_response. set (C := per_unit_1 micro) in *. clearbody C.
  refine (near_more _ _ _ _ _ _ _ (some_near C places outcomes nothing r l l' HC Hk Hm Hr Hn Hl Hl' j L L' H));
    try (apply released_nonneg; assumption || lia).
  fold spare. pose proof (rho_ge_1 C HC) as R1. pose proof spare_pos as S0.
  assert (K0 : 0 < IZR places) by (apply IZR_lt; lia).
  assert (J : 0 <= INR j / IZR places <= 1).
  { apply IZR_le in Hj. rewrite <- INR_IZR_INZ in Hj. pose proof (pos_INR j). split.
    - apply Rmult_le_pos; [assumption | left; apply Rinv_0_lt_compat; assumption].
    - apply Rmult_le_reg_r with (IZR places); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  unfold Rdiv in *. rewrite !(Rmult_comm (INR j)), !Rmult_assoc.
  set (share := INR j * / IZR places) in *. clearbody share.
  set (rho := rho_of C) in *. set (e := exp (eps micro)) in *. clearbody rho e.
  assert (share * ((1 + spare) * rho) <= share * e) by (apply Rmult_le_compat_l; lra).
  assert (0 <= share * spare) by nra. nra.
Qed.

(** *** The drawn sentence *)

Lemma drawn_step c t places : (0 < places)%Z -> (0 < c < t)%Z ->
  (0 < Z.min (t - 1) (up (c * t) (c + places * (t - c))) < t)%Z /\
  IZR t / IZR (Z.min (t - 1) (up (c * t) (c + places * (t - c)))) <= 1 + IZR places * (IZR t / IZR c - 1).
Proof.
  intros Hk HC.
  set (whole := (c + places * (t - c))%Z).
  assert (W : (t <= whole)%Z) by (unfold whole; assert (1 * (t - c) <= places * (t - c))%Z by
    (apply Z.mul_le_mono_nonneg_r; lia); lia).
  assert (WE : whole = (c + places * (t - c))%Z) by reflexivity. clearbody whole.
  assert (U : (up (c * t) whole <= t - 1)%Z).
  { apply up_spec; [lia|]. assert (c * t <= (t - 1) * t)%Z by (apply Z.mul_le_mono_nonneg_r; lia).
    assert ((t - 1) * t <= (t - 1) * whole)%Z by (apply Z.mul_le_mono_nonneg_l; lia). lia. }
  rewrite Z.min_r by assumption.
  assert (P : (0 < up (c * t) whole)%Z).
  { apply Z.nle_gt. rewrite up_spec by lia. assert (0 < c * t)%Z by (apply Z.mul_pos_pos; lia). lia. }
  split; [lia|].
  pose proof (up_ge (c * t) whole ltac:(lia)) as G. set (d := up (c * t) whole) in *. clearbody d.
  assert (D0 : 0 < IZR d) by (apply IZR_lt; lia). assert (T0 : 0 < IZR t) by (apply IZR_lt; lia).
  assert (W0 : 0 < IZR whole) by (apply IZR_lt; lia). assert (C0 : 0 < IZR c) by (apply IZR_lt; lia).
  apply Rle_trans with (IZR whole / IZR c).
  - rewrite mult_IZR in G. apply Rmult_le_reg_r with (IZR d * IZR c); [apply Rmult_lt_0_compat; assumption|].
    replace (IZR t / IZR d * (IZR d * IZR c)) with (IZR c * IZR t) by (field; lra).
    replace (IZR whole / IZR c * (IZR d * IZR c)) with (IZR whole * IZR d) by (field; lra).
    apply Rmult_le_compat_l with (r := IZR whole) in G; [|lra].
    replace (IZR whole * (IZR c * IZR t / IZR whole)) with (IZR c * IZR t) in G by (field; lra). exact G.
  - rewrite WE, plus_IZR, mult_IZR, minus_IZR. right. field. lra.
Qed.

Lemma drawn_spec micro places : (0 < places)%Z ->
  (0 < drawn_constant micro places < two64)%Z /\
  rho_of (drawn_constant micro places) <= 1 + IZR places * (rho_of (per_unit_1 micro) - 1).
Proof.
  intros Hk. unfold drawn_constant, rho_of. pose proof (per_unit_range micro) as HC.
  exact (drawn_step (per_unit_1 micro) two64 places Hk HC).
Qed.

(** A release of the kept outcome with the ratio of [drawn_ratio]. *)
Definition drawn (micro places : Z) (outcomes nothing r : nat) (lines : list nat) : R :=
  reservoir places nothing lines (response (drawn_constant micro places) outcomes r).

(** [j] lines exchanged, added or removed: 1 + j * (e^eps - 1), which is e^eps for one. *)
Theorem drawn_private micro places outcomes nothing l l' r j : (1 <= micro <= max_micro)%Z ->
  (0 < places < 2 ^ 16)%Z -> (Z.of_nat outcomes <= few)%Z -> (r < outcomes)%nat -> (nothing < outcomes)%nat ->
  Forall (fun b => b < outcomes)%nat l -> Forall (fun b => b < outcomes)%nat l' ->
  (Z.of_nat (length l) < 2 ^ 32)%Z -> (Z.of_nat (length l') < 2 ^ 32)%Z -> differ j l l' -> (1 <= j)%nat ->
  near (1 + INR j * (exp (eps micro) - 1))
    (drawn micro places outcomes nothing r l) (drawn micro places outcomes nothing r l').
Proof.
  intros Hu Hk Hm Hr Hn Hl Hl' L L' H Hj. destruct (drawn_spec micro places ltac:(lia)) as [HD HR].
  pose proof (per_unit_pays micro Hu) as Pays. pose proof (rho_ge_1 _ (per_unit_range micro)) as R1.
  unfold drawn.
  set (D := drawn_constant micro places) in *. clearbody D.
  refine (near_more _ _ _ _ _ _ _ (some_near D places outcomes nothing r l l' HD Hk Hm Hr Hn Hl Hl' j L L' H));
    try (apply released_nonneg; assumption || lia).
  pose proof spare_pos as S0. assert (K0 : 0 < IZR places) by (apply IZR_lt; lia).
  apply (le_INR 1) in Hj. simpl (INR 1) in Hj.
  set (rho := rho_of (per_unit_1 micro)) in *. set (rho' := rho_of D) in *.
  set (e := exp (eps micro)) in *. set (n := INR j) in *. clearbody rho rho' e n.
  assert (Q : n * (rho' - 1) / IZR places <= n * (rho - 1)).
  { apply Rmult_le_reg_r with (IZR places); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    rewrite Rmult_1_r, Rmult_assoc. apply Rmult_le_compat_l; lra. }
  apply Rle_trans with ((1 + spare) * (1 + n * (rho - 1))); [apply Rmult_le_compat_l; lra|].
  assert (n * ((1 + spare) * rho) <= n * e) by (apply Rmult_le_compat_l; lra).
  assert (0 <= (n - 1) * spare) by (apply Rmult_le_pos; lra). nra.
Qed.

(** All lines together: eps' = ln(1 + k * (e^eps - 1)). *)
Theorem drawn_all_private micro places outcomes nothing l l' r : (1 <= micro <= max_micro)%Z ->
  (0 < places < 2 ^ 16)%Z -> (Z.of_nat outcomes <= few)%Z -> (r < outcomes)%nat -> (nothing < outcomes)%nat ->
  Forall (fun b => b < outcomes)%nat l -> Forall (fun b => b < outcomes)%nat l' ->
  near (1 + IZR places * (exp (eps micro) - 1))
    (drawn micro places outcomes nothing r l) (drawn micro places outcomes nothing r l').
Proof.
  intros Hu Hk Hm Hr Hn Hl Hl'. destruct (drawn_spec micro places ltac:(lia)) as [HD HR].
  pose proof (per_unit_pays micro Hu) as Pays. pose proof (rho_ge_1 _ (per_unit_range micro)) as R1.
  unfold drawn. set (D := drawn_constant micro places) in *. clearbody D.
  refine (near_more _ _ _ _ _ _ _ (all_near D places outcomes nothing r l l' HD Hk Hm Hr Hn Hl Hl'));
    try (apply released_nonneg; assumption || lia).
  pose proof spare_pos as S0. assert (K1 : 1 <= IZR places) by (apply IZR_le; lia).
  set (rho := rho_of (per_unit_1 micro)) in *. set (rho' := rho_of D) in *.
  set (e := exp (eps micro)) in *. set (k := IZR places) in *. clearbody rho rho' e k.
  apply Rle_trans with ((1 + spare) * (1 + k * (rho - 1))); [apply Rmult_le_compat_l; lra|].
  assert (k * ((1 + spare) * rho) <= k * e) by (apply Rmult_le_compat_l; lra).
  assert (0 <= (k - 1) * spare) by (apply Rmult_le_pos; lra). nra.
Qed.

(** *** Points *)

(** The same by projective geometry, for points of any kind that Points.v and Hyperplanes.v treat: [point b] is that of
    outcome [b]. *)
Section Points.
Variables (micro places K c p : Z) (point : nat -> bool -> Z -> Z) (nothing : nat) (l l' : list nat).
Hypothesis Hu : (1 <= micro <= max_micro)%Z.
Hypothesis Hk : (0 < places < 2 ^ 16)%Z.
Hypothesis Hc : (0 < c < K)%Z.
Hypothesis HK : (K < 2 ^ 24)%Z.
Variable ok : nat -> Prop.
Hypothesis Hpoint : forall b, ok b -> once K c (point b).
Hypothesis Hp : (0 <= p < K)%Z.
Hypothesis Hn : ok nothing.
Hypothesis Hl : Forall ok l.
Hypothesis Hl' : Forall ok l'.

Let law (b : nat) : R := draws (per_unit_1 micro) K c (point b) p.

Theorem points_all_private : near (exp (eps micro)) (reservoir places nothing l law) (reservoir places nothing l' law).
Proof.
  apply (mixture_private ok); [apply exp_pos | | |].
  1, 2: apply reservoir_averages; try assumption; [apply draw_bounded | lia].
  intros x y Hx Hy. unfold law.
  exact (points_private micro K c (point x) (point y) p Hu Hc HK (Hpoint x Hx) (Hpoint y Hy) Hp).
Qed.

Theorem points_lines_private j : (Z.of_nat (length l) < 2 ^ 32)%Z -> (Z.of_nat (length l') < 2 ^ 32)%Z ->
  differ j l l' ->
  near ((1 + spare) * (1 + INR j * (rho_of (per_unit_1 micro) - 1) / IZR places))
    (reservoir places nothing l law) (reservoir places nothing l' law).
Proof.
  intros L L' H. unfold law. pose proof (per_unit_range micro) as HC.
  set (C := per_unit_1 micro) in *. clearbody C.
  pose proof (rho_ge_1 C HC) as R1. destruct (totals C K c HC Hc HK) as (HW & Hs & HT).
  apply (lines_near ok) with (fun b => draws_by uniform C K c (point b) p); try assumption.
  - intros x Hx. split; [apply (point_within C K c HC Hc HK (point x) p)|].
    destruct (point_law C K c HC Hc HK (point x) p (Hpoint x Hx) Hp) as [a Ea]. rewrite Ea.
    apply (two_weights C _ _ _ a a HC HW Hs HT).
  - intros x y Hx Hy.
    destruct (point_law C K c HC Hc HK (point x) p (Hpoint x Hx) Hp) as [a Ea].
    destruct (point_law C K c HC Hc HK (point y) p (Hpoint y Hy) Hp) as [b Eb]. rewrite Ea, Eb.
    apply (two_weights C _ _ _ a b HC HW Hs HT).
Qed.
End Points.

(** ** A window *)

Definition product (l : list R) : R := fold_right Rmult 1 l.

(** The probability of [slots] and of what is released in them. [chosen] is the law of the slots, which no text has a
    part in. [releases d x] is the probability of the release of slot [d], if [x] is its text. *)
Definition window {X} (chosen : list nat -> R) (releases : nat -> X -> R) (slots : list nat) (text : nat -> X) : R :=
  chosen slots * product (map (fun d => releases d (text d)) slots).

Lemma product_near (factor u u' : nat -> R) slots :
  (forall d, In d slots -> 0 <= factor d /\ 0 <= u d /\ 0 <= u' d /\ near (factor d) (u d) (u' d)) ->
  0 <= product (map factor slots) /\ 0 <= product (map u slots) /\ 0 <= product (map u' slots) /\
  near (product (map factor slots)) (product (map u slots)) (product (map u' slots)).
Proof.
  induction slots as [|d slots IH]; intros H; [unfold product, near; simpl; lra|].
  destruct (H d (or_introl eq_refl)) as (F & Q & Q' & N & N').
  destruct IH as (F1 & Q1 & Q1' & N1 & N1'); [intros; apply H; right; assumption|].
  unfold product in *; cbn [map fold_right].
  set (a := fold_right Rmult 1 (map factor slots)) in *. set (b := fold_right Rmult 1 (map u slots)) in *.
  set (b' := fold_right Rmult 1 (map u' slots)) in *.
  repeat split; try (apply Rmult_le_pos; assumption);
    replace (factor d * a * (u' d * b')) with ((factor d * u' d) * (a * b')) by ring;
    replace (factor d * a * (u d * b)) with ((factor d * u d) * (a * b)) by ring;
    apply Rmult_le_compat; assumption.
Qed.

Lemma window_near {X} chosen (releases : nat -> X -> R) factor slots text text' : 0 <= chosen slots ->
  (forall d, In d slots -> 0 <= factor d /\ 0 <= releases d (text d) /\ 0 <= releases d (text' d) /\
    near (factor d) (releases d (text d)) (releases d (text' d))) ->
  near (product (map factor slots)) (window chosen releases slots text) (window chosen releases slots text').
Proof.
  intros H0 H. apply product_near in H. destruct H as (_ & _ & _ & N & N'). unfold window.
  split; rewrite <- (Rmult_assoc _ (chosen slots)), (Rmult_comm _ (chosen slots)), Rmult_assoc;
    (apply Rmult_le_compat_l; assumption).
Qed.

(** Any two windows of text, if each release promises [e] for all that is in its slot: e^(c * e) for c slots. *)
Theorem window_private {X} chosen (releases : nat -> X -> R) e slots text text' : 0 <= chosen slots ->
  (forall d x, 0 <= releases d x) -> (forall d x x', near (exp e) (releases d x) (releases d x')) ->
  near (exp (INR (length slots) * e)) (window chosen releases slots text) (window chosen releases slots text').
Proof.
  intros H0 Hp H.
  replace (exp (INR (length slots) * e)) with (product (map (fun _ => exp e) slots)).
  - apply window_near; [assumption|]. intros d _. repeat split; try apply Hp; try apply H. left; apply exp_pos.
  - rewrite exp_INR. unfold product. clear. induction slots as [|d slots IH]; [reflexivity|].
    cbn [map fold_right length pow]. rewrite IH. reflexivity.
Qed.

(** Two windows that differ in one slot only: the factor of its release. *)
Theorem window_one_slot {X} chosen (releases : nat -> X -> R) factor slots text text' d : 0 <= chosen slots ->
  NoDup slots -> 1 <= factor -> (forall s x, 0 <= releases s x) -> (forall s, s <> d -> text s = text' s) ->
  near factor (releases d (text d)) (releases d (text' d)) ->
  near factor (window chosen releases slots text) (window chosen releases slots text').
Proof.
  intros H0 Hd HF Hp Ht H. set (factors := fun s => if (s =? d)%nat then factor else 1).
  assert (N : near (product (map factors slots))
    (window chosen releases slots text) (window chosen releases slots text')).
  { apply window_near; [assumption|]. intros s _. unfold factors. destruct (Nat.eqb_spec s d) as [->|n].
    - repeat split; try apply Hp; try apply H. lra.
    - rewrite (Ht s n). repeat split; try apply Hp; lra. }
  assert (One : ~ In d slots -> product (map factors slots) = 1).
  { clear - d. intros I. induction slots as [|s slots IH]; [reflexivity|]. unfold product in *; cbn [map fold_right].
    rewrite IH by (intros J; apply I; right; exact J). unfold factors.
    destruct (Nat.eqb_spec s d) as [->|]; [|ring]. exfalso. apply I. left; reflexivity. }
  assert (F : product (map factors slots) <= factor).
  { clear - Hd HF One. induction Hd as [|s slots Hs Hd IH]; [unfold product; simpl; exact HF|].
    destruct (in_dec Nat.eq_dec d (s :: slots)) as [I|I]; [|rewrite One by exact I; exact HF].
    destruct I as [->|I].
    - unfold product in *. cbn [map fold_right]. unfold factors at 1. rewrite Nat.eqb_refl.
      assert (E : fold_right Rmult 1 (map factors slots) = 1); [|rewrite E; lra].
      clear - Hs. induction slots as [|s slots IH]; [reflexivity|]. cbn [map fold_right].
      rewrite IH by (intros J; apply Hs; right; exact J). unfold factors.
      destruct (Nat.eqb_spec s d) as [->|]; [|ring]. exfalso. apply Hs. left; reflexivity.
    - unfold product in *. cbn [map fold_right]. unfold factors at 1.
      destruct (Nat.eqb_spec s d) as [->|]; [contradiction|]. rewrite Rmult_1_l. apply IH.
      intros J. contradiction. }
  destruct N as [N N'].
  assert (W : forall x, 0 <= window chosen releases slots x).
  { intros x. apply Rmult_le_pos; [assumption|]. unfold product. clear - Hp.
    induction slots as [|s slots IH]; cbn [map fold_right]; [lra|]. apply Rmult_le_pos; [apply Hp | exact IH]. }
  split; [apply Rle_trans with (1 := N) | apply Rle_trans with (1 := N')];
    (apply Rmult_le_compat_r; [apply W | exact F]).
Qed.

(** A reservoir for each slot, released by the whole-text rule: c * eps for all that was typed in a window. The release
    of slot [d] is outcome [released d]. *)
Theorem year_private micro places outcomes nothing chosen slots lines lines' released :
  (1 <= micro <= max_micro)%Z -> (0 < places < 2 ^ 16)%Z -> (Z.of_nat outcomes <= few)%Z ->
  (nothing < outcomes)%nat -> (forall d, released d < outcomes)%nat ->
  (forall d, Forall (fun b => b < outcomes)%nat (lines d)) ->
  (forall d, Forall (fun b => b < outcomes)%nat (lines' d)) -> 0 <= chosen slots ->
  let releases d l := reservoir places nothing l (fun b => whole_text micro b outcomes (released d)) in
  near (exp (INR (length slots) * eps micro))
    (window chosen releases slots lines) (window chosen releases slots lines').
Proof.
  intros Hu Hk Hm Hn Hr Hl Hl' H0 releases.
  assert (P : forall d l, 0 <= releases d l).
  { intros d l. unfold releases. rewrite whole_text_response. pose proof (per_unit_range micro) as HC.
    set (C := per_unit_1 micro) in *. clearbody C. apply released_nonneg; try assumption; [lia | apply Hr]. }
  replace (exp (INR (length slots) * eps micro)) with (product (map (fun _ => exp (eps micro)) slots)).
  - apply window_near; [assumption|]. intros d _.
    split; [left; apply exp_pos | split; [exact (P d (lines d)) | split; [exact (P d (lines' d))|]]].
    exact (all_lines_private micro places outcomes nothing (lines d) (lines' d) (released d) Hu Hk Hm (Hr d) Hn
      (Hl d) (Hl' d)).
  - rewrite exp_INR. unfold product. clear. induction slots as [|d slots IH]; [reflexivity|].
    cbn [map fold_right length pow]. rewrite IH. reflexivity.
Qed.
