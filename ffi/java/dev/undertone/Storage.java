package dev.undertone;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * How the native side reads and writes a ledger. It calls these methods by their names, which
 * proguard.txt keeps.
 */
final class Storage {
    /**
     * The bytes read and written: one more than a ledger has, so that a longer file is noticed.
     */
    final byte[] buffer = new byte[Ledger.IMAGE_BYTES + 1];

    private final FileChannel channel;
    private final Ledger.Counter counter;

    /** Without a counter of the platform it is null. */
    Storage(FileChannel channel, Ledger.Counter counter) {
        this.channel = channel;
        this.counter = counter;
    }

    boolean isCounted() {
        return counter != null;
    }

    int read() throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(buffer);
        while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) > 0) {
            continue;
        }
        return bytes.position();
    }

    void write(int offset, int length) throws IOException {
        write(channel, ByteBuffer.wrap(buffer, 0, length), offset);
    }

    /** Returns once the bytes are on storage. */
    static void write(FileChannel channel, ByteBuffer left, long offset) throws IOException {
        while (left.hasRemaining()) {
            offset += channel.write(left, offset);
        }
        channel.force(true);
    }

    long readCounter() throws IOException {
        long counted = counter.read();
        if (counted < 0) {
            throw new IOException("the counter of the ledger is at " + counted + "; it counts from 0");
        }
        return counted;
    }

    void raiseCounter(long to) throws IOException {
        counter.raise(to);
    }
}
