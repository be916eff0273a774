import com.sun.nio.sctp.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.util.Set;

/** Messages over several streams between a server and a client of com.sun.nio.sctp, both in this program. */
public class Channels {
    public static void main(String[] arguments) throws Exception {
        SctpServerChannel server = SctpServerChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
        InetSocketAddress address = (InetSocketAddress) server.getAllLocalAddresses().iterator().next();
        Thread echo = new Thread(() -> {
            try (SctpChannel channel = server.accept()) {
                ByteBuffer buffer = ByteBuffer.allocate(100_000);
                for (MessageInfo got; (got = channel.receive(buffer, null, null)).bytes() >= 0; buffer.clear()) {
                    buffer.flip();
                    MessageInfo info = MessageInfo.createOutgoing(null, got.streamNumber());
                    channel.send(buffer, info.payloadProtocolID(got.payloadProtocolID()).unordered(got.isUnordered()));
                }
            } catch (Exception failure) {
                failure.printStackTrace();
            }
        });
        echo.start();
        SctpChannel channel = SctpChannel.open(address, 8, 8);
        Association association = channel.association();
        if (association.maxOutboundStreams() != 8) throw new Exception("streams: " + association);
        channel.setOption(SctpStandardSocketOptions.SCTP_NODELAY, true);
        if (!channel.getOption(SctpStandardSocketOptions.SCTP_NODELAY)) throw new Exception("an option was lost");
        Set<SocketAddress> peer = channel.getRemoteAddresses();
        if (!peer.contains(address)) throw new Exception("peer: " + peer);
        for (int number = 0; number < 200; number++) {
            byte[] content = new byte[1 + number * 317 % 60_000];
            content[0] = (byte) number;
            channel.send(ByteBuffer.wrap(content), MessageInfo.createOutgoing(null, number % 8).payloadProtocolID(number));
            ByteBuffer buffer = ByteBuffer.allocate(100_000);
            MessageInfo info = channel.receive(buffer, null, null);
            boolean isSame = info.bytes() == content.length && buffer.get(0) == content[0] && info.isComplete();
            if (!isSame || info.streamNumber() != number % 8 || info.payloadProtocolID() != number) {
                throw new Exception("message " + number + ": " + info);
            }
        }
        channel.shutdown();
        channel.close();
        echo.join();
        // One-to-many.
        SctpMultiChannel many = SctpMultiChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
        SctpMultiChannel other = SctpMultiChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
        SocketAddress to = many.getAllLocalAddresses().iterator().next();
        other.send(ByteBuffer.wrap(new byte[] {7}), MessageInfo.createOutgoing(to, 1));
        ByteBuffer buffer = ByteBuffer.allocate(100);
        MessageInfo info = many.receive(buffer, null, null);
        SctpChannel branched = many.branch(info.association());
        branched.send(ByteBuffer.wrap(new byte[] {8, 9}), MessageInfo.createOutgoing(null, 2));
        buffer.clear();
        info = other.receive(buffer, null, null);
        if (info.bytes() != 2 || info.streamNumber() != 2) throw new Exception("branched: " + info);
        System.out.println("all messages came back");
        System.exit(0);
    }
}
