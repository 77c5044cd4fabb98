import dev.undertone.Ledger;
import dev.undertone.Status;
import dev.undertone.UndertoneException;
import dev.undertone.Unit;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * A program with a ledger, for tests/tests/ledger_lock.rs: java LedgerProgram hold|spend PATH.
 *
 * <p>Both open or make a ledger of epsilon 5 a window, and exit with 3 if it is in use. "spend" spends 1 in window 1.
 * "hold" tries to open the file a second time, says "open", and waits for the end of its input.
 */
public final class LedgerProgram {
    public static void main(String[] arguments) throws IOException {
        Path path = Paths.get(arguments[1]);
        try (Ledger ledger = Ledger.openOrCreate(path, Unit.SENTENCE, 5_000_000)) {
            if (arguments[0].equals("spend")) {
                ledger.spend(1_000_000, 1);
                return;
            }
            try (Ledger again = Ledger.openOrCreate(path, Unit.SENTENCE, 5_000_000)) {
                throw new AssertionError("opened twice: " + again);
            } catch (UndertoneException refused) {
                System.out.println("open");
            }
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (UndertoneException refused) {
            System.err.println(refused.getMessage());
            System.exit(refused.status() == Status.LEDGER_IN_USE ? 3 : 1);
        } catch (IOException refused) {
            System.err.println(refused.getMessage());
            System.exit(1);
        }
    }
}
