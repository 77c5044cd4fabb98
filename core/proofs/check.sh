#!/usr/bin/env bash
# Checks the proofs, and that they are about the current code: core/proofs/check.sh [--code-only]
# A minute on two cores, in a temporary folder. Requires Debian's coq and libcoq-coquelicot
# (README.md) except with --code-only, which only compares the model with the code, in a second.
set -euo pipefail
cd "$(dirname "$0")"
src=../src
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "core/proofs: $*" >&2; exit 1; }

# In the order in which they need each other.
files=(Integral Coins Weights Constant Draws Steps Select Private Documents WholeText Points Hyperplanes Reservoir Noise Grid)
[ "$(printf '%s.v\n' "${files[@]}" | sort)" = "$(printf '%s\n' *.v | sort)" ] ||
    fail "check.sh lists other files than the folder has"

# Without it the constants of the proof could be others than those of the code.
constants() { tr -d '_' <<<"$1" | grep -oE '0x[0-9a-f]+'; }
ours=$(constants "$(sed -n '/^Definition exp_of_bit/,/nil\./p' Constant.v)")
theirs=$(constants "$(sed -n '/^const EXP_OF_BIT/,/^\];/p' $src/select.rs)")
[ "$(wc -l <<<"$theirs")" = 30 ] || fail "no 30 constants in select.rs"
[ "$ours" = "$theirs" ] || fail "exp_of_bit of Constant.v is not EXP_OF_BIT of select.rs"

# Without it the model could be of code that has changed. A row of the table in README.md: a
# definition or theorem, a function, and an expression of it.
rows=0
while IFS='|' read -r _ ours theirs expression _; do
    read -r file name <<<"$(sed -nE 's/^ *`([A-Za-z]+)\.([A-Za-z0-9_]+)` *$/\1 \2/p' <<<"$ours")"
    [ -n "${name:-}" ] || continue
    grep -qE "^(Theorem|Lemma|Definition|Fixpoint) $name\b" "$file.v" || fail "README.md: no $name in $file.v"
    read -r module function <<<"$(sed -nE 's/^ *`([a-z0-9_\/]+)::([A-Za-z_]+)` *$/\1 \2/p' <<<"$theirs")"
    [ -n "${function:-}" ] || fail "README.md: no function in the row of $file.$name"
    grep -qE "(fn|const|struct) $function\b" "$src/$module.rs" || fail "README.md: no $function in $module.rs"
    expression=$(sed -nE 's/^ *`(.*)` *$/\1/p' <<<"$expression")
    [ -n "$expression" ] || fail "README.md: no expression in the row of $file.$name"
    grep -qF -- "$expression" "$src/$module.rs" ||
        fail "$module.rs has changed: no \"$expression\". Is $file.$name still what $function does?"
    rows=$((rows + 1))
done <README.md
[ "$rows" -ge 20 ] || fail "only $rows rows found in README.md"
echo "$rows expressions of the code are those of the model (at $SECONDS s)"
[ "${1-}" != --code-only ] || exit 0

compile() { timeout 300 coqc -q -w -ambiguous-paths -R . Undertone "$1.v"; }

# Without it a proof could have a hole. (A hole under another name is an axiom, found below.)
if grep -nwE 'Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|bypass_check' -- *.v ||
    grep -nE 'Unset (Guard|Positivity|Universe)' -- *.v; then
    fail "a proof has a hole"
fi

# Without it a lemma could be wrong.
cp -- *.v "$work"
cd "$work"
for file in "${files[@]}"; do
    compile "$file" || fail "$file.v does not compile"
done
cd "$OLDPWD"
echo "${#files[@]} files compile (at $SECONDS s)"

# Without it a theorem could rest on an unproved statement. All theorems at once, for speed.
theorems=()
for file in "${files[@]}"; do
    mapfile -t -O "${#theorems[@]}" theorems < <(sed -n "s/^Theorem \([A-Za-z0-9_]*\).*/Undertone.$file.\1/p" "$file.v")
done
[ "${#theorems[@]}" -ge 25 ] || fail "only ${#theorems[@]} theorems found"
{
    printf 'Require Undertone.%s.\n' "${files[@]}"
    echo 'Definition everything :='
    printf 'conj (@%s) (\n' "${theorems[@]}"
    echo "I${theorems[*]/*/)}."
    echo 'Print Assumptions everything.'
} >"$work/Assumptions.v"
(cd "$work" && compile Assumptions) >"$work/assumptions" || fail "the list of theorems does not compile"
grep -qx 'Axioms:' "$work/assumptions" || fail "Print Assumptions did not print axioms"
# Continued lines are indented.
sed -nE '/^(Axioms:|[ ])/!s/^([^ ]*).*/\1/p' "$work/assumptions" | sort -u >"$work/axioms"
# Of Coq's real numbers, and of Coquelicot's integrals.
cat >"$work/allowed" <<'AXIOMS'
ClassicalDedekindReals.sig_forall_dec
ClassicalDedekindReals.sig_not_dec
Classical_Prop.classic
FunctionalExtensionality.functional_extensionality_dep
AXIOMS
diff "$work/allowed" "$work/axioms" >&2 || fail "the theorems rest on other axioms (>) than those allowed (<)"
echo "${#theorems[@]} theorems rest on the $(wc -l <"$work/allowed") axioms allowed and on nothing else (at $SECONDS s)"

# Without it the theorems could be vacuous: each of these changes of the model must break them, by an
# error of a proof and not of spelling.
count=0
mutant() { # NAME FILE FROM TO
    count=$((count + 1))
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
    try "$work/mutant-$count" "$@" &
}
try() { # FOLDER NAME FILE FROM TO. Leaves in which file it failed, or "passes"
    local file started= folder=$1 text
    text=$(<"$3.v")
    mkdir "$folder"
    echo "$2" >"$folder/name"
    if [[ "$text" != *"$4"* ]]; then
        echo "changes nothing" >"$folder/outcome"
        return
    fi
    for file in "${files[@]}"; do
        [ "$file" != "$3" ] || started=1
        if [ -z "$started" ]; then cp "$work/$file.vo" "$folder"; else cp "$file.v" "$folder"; fi
    done
    printf '%s\n' "${text/"$4"/"$5"}" >"$folder/$3.v"
    for file in "${files[@]}"; do
        [ -f "$folder/$file.v" ] || continue
        if ! (cd "$folder" && compile "$file") >"$folder/log" 2>&1; then
            if ! grep -q '^Error' "$folder/log"; then
                echo "does not end" >"$folder/outcome"
            elif grep -qE 'Syntax error|was not found|not a defined|physical path|Unable to locate' "$folder/log"; then
                echo "is misspelt" >"$folder/outcome"
            else
                echo "fails in $file.v" >"$folder/outcome"
            fi
            return
        fi
    done
    echo "passes" >"$folder/outcome"
}
mutant "nothing" WholeText "Require" "Require"
mutant "C of + 3, not + 4" Constant "(up p (2 ^ 63) + 4)" "(up p (2 ^ 63) + 3)"
mutant "a constant one less" Constant "c005969e" "c005969d"
mutant "products rounded down" Constant "Z := up (a * b) (2 ^ 127)" "Z := ((a * b) / 2 ^ 127)%Z"
mutant "weights rounded down" Weights "(up (Z.min w two64 * C) two64)" "(Z.min w two64 * C / two64)"
mutant "weights down to 0" Weights "Z.max 1 (up" "Z.max 0 (up"
mutant "64 random bits for a draw" Draws "(high * n + (low * n) / two64)" "(high * n)"
mutant "heads if the word is the weight" Select "((u <? w)%Z :: v)" "((u <=? w)%Z :: v)"
mutant "levels cut at the bound, not below" Steps "Nat.min x (bound - 1)" "Nat.min x bound"
mutant "weights from level 0, not from the best" Select "if occupied then step C weight else weight" "step C weight"
mutant "first weight of 2^49 by exponential" Select "Exponential => 2 ^ 48" "Exponential => 2 ^ 49"
mutant "a level one early" Select "(target <? running + s)%Z" "(target <=? running + s)%Z"
mutant "rank among all candidates" Select "D (Z.of_nat (nth level counts O))" "D (zsum (map Z.of_nat counts))"
mutant "what + 2 pays" Private "/ IZR (2 ^ 62)." "/ IZR (2 ^ 63)."
mutant "the ratio of eps / (Q - 1)" Private "(micro / Q)." "(micro / (Q - 1))."
mutant "levels twice as far apart" Documents "Nat.min (best sums - u)" "Nat.min (2 * (best sums - u))"
mutant "scores up to Q + 1" Documents "Forall (fun q => q <= Q) s" "Forall (fun q => q <= S Q) s"
mutant "a sentence counts twice" Documents "length (filter" "2 * length (filter"
mutant "the ratio of 3 eps for a text" WholeText "Z.min (2 * micro)" "Z.min (3 * micro)"
mutant "two best outcomes" WholeText "if (i =? best)%nat then O else" "if (i <=? best)%nat then O else"
mutant "one index for all points" Points "if inside then preferred else rest) (fun" "preferred) (fun"
mutant "a product of 0 outside" Hyperplanes "((if inside then 0 else 1) - dot" "(0 - dot"
mutant "weights of points up to 2^41" Points "Z := 2 ^ 40." "Z := 2 ^ 41."
mutant "a place outside too early" Points "(if inside then 0 else k) in" "(if inside then 0 else k - 1) in"
mutant "a later line replaces twice as often" Reservoir "(drawn =? 0)%Z in" "(drawn <=? 1)%Z in"
mutant "the last of the first lines is late" Reservoir "(places <? line)%Z in" "(places <=? line)%Z in"
mutant "places from 0" Reservoir "(place + 1) 0 lines" "place 0 lines"
mutant "a drawn ratio of k + 1" Reservoir "places * (two64 - c))%Z in" "(places + 1) * (two64 - c))%Z in"
mutant "noise of + 3, not + 4" Noise "(2 ^ 32 + A) + 4" "(2 ^ 32 + A) + 3"
mutant "rounded to the nearest point" Noise "w / 2 ^ 24 <? x mod 2 ^ 40" "2 ^ 39 <=? x mod 2 ^ 40"
mutant "sign from a bit that rounds" Noise "if Z.odd w" "if Z.odd (w / 2 ^ 24)"
mutant "no weight for the tail that is cut" Noise "up (noise_weight C stored * C) (two64 - C)" "noise_weight C stored"
mutant "a magnitude too far" Noise "if sums C j <=? drawn" "if sums C j <? drawn"
mutant "A rounded up" Grid "left + (2 ^ (2 * power) - 1)) / 2" "left) / 2"
mutant "the square rounded down" Grid "shrink fuel (up left 4)" "shrink fuel (left / 4)"
mutant "a grid of half the steps" Grid "Z := -29 +" "Z := -28 +"
wait
broken=0
for number in $(seq "$count"); do
    name=$(<"$work/mutant-$number/name") outcome=$(<"$work/mutant-$number/outcome")
    echo "  $name: $outcome"
    case "$name: $outcome" in
        "nothing: passes") ;;
        nothing:*) cat "$work/mutant-$number/log" >&2; fail "the proofs fail where nothing was changed" ;;
        *": fails in "*) broken=$((broken + 1)) ;;
        *) fail "the change \"$name\" of the model must break a proof; it $outcome" ;;
    esac
done
echo "$broken changes of the model, one at a time, break the proofs (at $SECONDS s)"
