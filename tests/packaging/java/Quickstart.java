import dev.undertone.Document;
import dev.undertone.Grant;
import dev.undertone.Pack;
import dev.undertone.Release;
import dev.undertone.Undertone;
import dev.undertone.Unit;

import java.nio.file.Files;
import java.nio.file.Paths;

public class Quickstart {
    public static void main(String[] arguments) throws Exception {
        Pack pack = Pack.copyOf(Files.readAllBytes(Paths.get(arguments[0])));
        try (Document document = new Document(pack)) {
            document.pushText("My doctor wants to repeat the blood test on Monday. "
                    + "The clinic called about the swollen node under my arm. "
                    + "I am worried about the biopsy and the treatment.");
            Release release = document.release(Grant.unrecorded(Unit.SENTENCE, Undertone.epsilonMicro("10")));
            StringBuilder hex = new StringBuilder();
            for (byte b : release.toBytes()) {
                hex.append(String.format("%02x", b));
            }
            System.out.println("{\"id\": \"java\", \"release\": \"" + hex + "\"}");
        }
    }
}
