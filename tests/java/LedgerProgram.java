import dev.undertone.Ledger;
import dev.undertone.Status;
import dev.undertone.UndertoneException;
import dev.undertone.Unit;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.SecureRandomSpi;
import java.security.Security;

/**
 * A program with a ledger, for tests/tests/ledger_lock.rs: java LedgerProgram hold|spend|anew PATH.
 *
 * <p>"hold" and "spend" open or make a ledger of epsilon 9 a window, and exit with 3 if it is in
 * use. "spend" spends 1 in window 1. "hold" tries to open the file a second time, prints "open",
 * and waits for the end of its input. "anew" recreates the ledger in window 1 while another program
 * makes it.
 */
public final class LedgerProgram {
    private static final long BUDGET = 9_000_000;

    private static Path path;

    /** Puts a generator in the place of the virtual machine's. */
    private static final class Meanwhile extends Provider {
        private static final long serialVersionUID = 1;

        @SuppressWarnings("deprecation")
        Meanwhile() {
            super("Meanwhile", 1, "entropy that comes after another ledger");
            put("SecureRandom.AfterAnother", AfterAnother.class.getName());
        }
    }

    /** Between the look whether there is a ledger and its writing. Made by the virtual machine. */
    public static final class AfterAnother extends SecureRandomSpi {
        private static final long serialVersionUID = 1;

        private boolean called;

        @Override
        protected void engineNextBytes(byte[] bytes) {
            try {
                if (!called) {
                    called = true;
                    Ledger.openOrCreate(path, Unit.SENTENCE, BUDGET).close();
                }
                SecureRandom.getInstance("NativePRNGNonBlocking").nextBytes(bytes);
            } catch (UndertoneException refused) {
                // The one who begins anew has the file already.
                if (refused.status() != Status.LEDGER_IN_USE) {
                    throw refused;
                }
                engineNextBytes(bytes);
            } catch (IOException | GeneralSecurityException failed) {
                throw new IllegalStateException(failed);
            }
        }

        @Override
        protected void engineSetSeed(byte[] seed) {
            throw new UnsupportedOperationException("nobody seeds");
        }

        @Override
        protected byte[] engineGenerateSeed(int count) {
            throw new UnsupportedOperationException("nobody asks for a seed");
        }
    }

    public static void main(String[] arguments) throws IOException {
        path = Paths.get(arguments[1]);
        if (arguments[0].equals("anew")) {
            // Before the library makes its generator.
            Security.insertProviderAt(new Meanwhile(), 1);
            Ledger.recreateSpent(path, Unit.SENTENCE, BUDGET, 1).close();
            return;
        }
        try (Ledger ledger = Ledger.openOrCreate(path, Unit.SENTENCE, BUDGET)) {
            if (arguments[0].equals("spend")) {
                ledger.spend(1_000_000, 1);
                return;
            }
            try (Ledger again = Ledger.openOrCreate(path, Unit.SENTENCE, BUDGET)) {
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
