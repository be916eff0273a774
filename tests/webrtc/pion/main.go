// Command pion is the other end of a data channel: DTLS, SCTP and channels by pion. It sends back what comes on channels of its peer, or
// opens channels itself and sees whether its peer does.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/pion/datachannel"
	"github.com/pion/dtls/v3"
	"github.com/pion/dtls/v3/pkg/crypto/selfsign"
	"github.com/pion/logging"
	"github.com/pion/sctp"
)

const mostBytes = 1 << 18

type options struct {
	server      bool
	what        string
	waits       bool
	interleaves bool
	loses       bool
	aborts      bool
}

var loggers = logging.NewDefaultLoggerFactory()

func main() {
	local := flag.String("local", "", "address and UDP port of this side")
	peer := flag.String("peer", "", "address and UDP port of the peer")
	server := flag.Bool("server", false, "wait for the DTLS handshake of the peer")
	what := flag.String("what", "echo", "echo or check")
	waits := flag.Bool("waits", false, "wait for the SCTP association of the peer")
	interleaves := flag.Bool("interleaves", true, "have I-DATA")
	loses := flag.Bool("loses", false, "packets get lost: send messages that are abandoned, too")
	aborts := flag.Bool("abort", false, "end the association by ABORT after check")
	flag.Parse()
	options := options{*server, *what, *waits, *interleaves, *loses, *aborts}
	if err := run(*local, *peer, options); err != nil {
		log.Fatal(err)
	}
}

func run(local, peer string, options options) error {
	conn, err := handshake(local, peer, options.server)
	if err != nil {
		return fmt.Errorf("DTLS: %w", err)
	}
	defer conn.Close()
	association, err := associate(conn, options)
	if err != nil {
		return fmt.Errorf("SCTP: %w", err)
	}
	defer association.Close()
	agreed, _ := association.Metadata()
	log.Printf("agreed: %+v", agreed)
	if !agreed.ZeroChecksumSendingEnabled || !agreed.ZeroChecksumReceivingEnabled {
		return errors.New("zero checksums were not agreed on")
	}
	if agreed.MessageInterleavingEnabled != options.interleaves {
		return errors.New("I-DATA is not as it should be")
	}
	if options.what != "check" {
		return echo(association)
	}
	// The client has even streams, the server odd ones.
	first := uint16(0)
	if options.server {
		first = 1
	}
	if err := check(association, first, options.loses); err != nil {
		return err
	}
	if options.aborts {
		association.Abort("enough")
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return association.Shutdown(ctx)
}

// associate opens the association, as both sides do in WebRTC, or waits for it.
func associate(conn net.Conn, options options) (*sctp.Association, error) {
	if options.waits {
		return sctp.ServerWithOptions(
			sctp.WithNetConn(conn),
			sctp.WithLoggerFactory(loggers),
			sctp.WithEnableZeroChecksum(true),
			sctp.WithEnableInterleaving(options.interleaves),
			sctp.WithMaxReceiveBufferSize(4<<20),
			sctp.WithMaxMessageSize(mostBytes),
		)
	}
	return sctp.ClientWithOptions(
		sctp.WithNetConn(conn),
		sctp.WithLoggerFactory(loggers),
		sctp.WithEnableZeroChecksum(true),
		sctp.WithEnableInterleaving(options.interleaves),
		sctp.WithMaxReceiveBufferSize(4<<20),
		sctp.WithMaxMessageSize(mostBytes),
	)
}

func handshake(local, peer string, server bool) (*dtls.Conn, error) {
	localAddress, err := net.ResolveUDPAddr("udp", local)
	if err != nil {
		return nil, err
	}
	peerAddress, err := net.ResolveUDPAddr("udp", peer)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", localAddress)
	if err != nil {
		return nil, err
	}
	certificate, err := selfsign.GenerateSelfSigned()
	if err != nil {
		return nil, err
	}
	// The fingerprint would come by signalling.
	config := &dtls.Config{
		Certificates:         []tls.Certificate{certificate},
		InsecureSkipVerify:   true,
		ClientAuth:           dtls.RequireAnyClientCert,
		ExtendedMasterSecret: dtls.RequireExtendedMasterSecret,
		// WebRTC always asks for some, and pion refuses a peer that has none of its own.
		SRTPProtectionProfiles: []dtls.SRTPProtectionProfile{dtls.SRTP_AEAD_AES_128_GCM},
	}
	var conn *dtls.Conn
	if server {
		conn, err = dtls.Server(socket, peerAddress, config)
	} else {
		conn, err = dtls.Client(socket, peerAddress, config)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return conn, conn.HandshakeContext(ctx)
}

// echo sends everything back until the association ends.
func echo(association *sctp.Association) error {
	for {
		channel, err := datachannel.Accept(association, &datachannel.Config{LoggerFactory: loggers})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		go func() {
			defer channel.Close()
			buffer := make([]byte, mostBytes)
			for {
				n, isString, err := channel.ReadDataChannel(buffer)
				if err != nil {
					return
				}
				if _, err := channel.WriteDataChannel(buffer[:n], isString); err != nil {
					return
				}
			}
		}()
	}
}

// check opens channels of every kind to a peer that sends everything back.
func check(association *sctp.Association, first uint16, loses bool) error {
	kinds := []datachannel.Config{
		{ChannelType: datachannel.ChannelTypeReliable, Label: "ordered", Protocol: "test"},
		{ChannelType: datachannel.ChannelTypeReliableUnordered, Label: "unordered", Priority: 1024},
		{ChannelType: datachannel.ChannelTypePartialReliableRexmit, Label: "limited", ReliabilityParameter: 1000},
		{ChannelType: datachannel.ChannelTypePartialReliableTimedUnordered, Label: "timed", ReliabilityParameter: 60000},
	}
	for number, kind := range kinds {
		kind.LoggerFactory = loggers
		channel, err := datachannel.Dial(association, first+2*uint16(number), &kind)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.Label, err)
		}
		if err := checkChannel(channel); err != nil {
			return fmt.Errorf("%s: %w", kind.Label, err)
		}
		log.Printf("%s: ok", kind.Label)
		if err := channel.Close(); err != nil {
			return fmt.Errorf("%s: close: %w", kind.Label, err)
		}
	}
	next := first + 2*uint16(len(kinds))
	if err := checkMany(association, next); err != nil {
		return err
	}
	if !loses {
		return nil
	}
	return checkAbandoned(association, next+2*manyChannels)
}

const manyChannels = 200

// checkMany opens many channels at once, and wants a message of each of them back.
func checkMany(association *sctp.Association, first uint16) error {
	var channels []*datachannel.DataChannel
	for number := uint16(0); number < manyChannels; number++ {
		config := datachannel.Config{Label: fmt.Sprint("channel ", number), LoggerFactory: loggers}
		channel, err := datachannel.Dial(association, first+2*number, &config)
		if err != nil {
			return fmt.Errorf("channel %d: %w", number, err)
		}
		if _, err := channel.WriteDataChannel([]byte(config.Label), true); err != nil {
			return err
		}
		channels = append(channels, channel)
	}
	buffer := make([]byte, mostBytes)
	for number, channel := range channels {
		if err := channel.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			return err
		}
		n, _, err := channel.ReadDataChannel(buffer)
		if err != nil || string(buffer[:n]) != fmt.Sprint("channel ", number) {
			return fmt.Errorf("channel %d: %q, %w", number, buffer[:n], err)
		}
		if err := channel.Close(); err != nil {
			return err
		}
	}
	log.Printf("%d channels: ok", manyChannels)
	return nil
}

// checkAbandoned sends messages that are not retransmitted, then others behind them on the same channel until one comes back.
func checkAbandoned(association *sctp.Association, first uint16) error {
	kinds := []datachannel.ChannelType{
		datachannel.ChannelTypePartialReliableRexmit, datachannel.ChannelTypePartialReliableRexmitUnordered,
	}
	for number, kind := range kinds {
		config := datachannel.Config{ChannelType: kind, Label: "abandoned", LoggerFactory: loggers}
		channel, err := datachannel.Dial(association, first+2*uint16(number), &config)
		if err != nil {
			return err
		}
		came, err := echoesOfAbandoned(channel)
		if err != nil {
			return fmt.Errorf("abandoned messages: %w", err)
		}
		if came == 0 || came >= abandonable {
			return fmt.Errorf("%d of %d messages came back, though packets were lost", came, abandonable)
		}
		log.Printf("abandoned messages: %d of %d came back: ok", came, abandonable)
		if err := channel.Close(); err != nil {
			return err
		}
	}
	return nil
}

const abandonable = 300

func echoesOfAbandoned(channel *datachannel.DataChannel) (int, error) {
	for number := 0; number < abandonable; number++ {
		if _, err := channel.WriteDataChannel(bytes.Repeat([]byte{byte(number)}, 1000), false); err != nil {
			return 0, err
		}
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				_, _ = channel.WriteDataChannel([]byte("last"), true)
			}
		}
	}()
	buffer := make([]byte, mostBytes)
	for came := 0; ; came++ {
		if err := channel.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return 0, err
		}
		_, isString, err := channel.ReadDataChannel(buffer)
		if err != nil || isString {
			return came, err
		}
	}
}

// checkChannel sends messages one by one and wants each of them back.
func checkChannel(channel *datachannel.DataChannel) error {
	buffer := make([]byte, mostBytes)
	sizes := []int{1, 3, 1000, 1200, 5000, 60000, mostBytes}
	for number := 0; number < 56; number++ {
		content := bytes.Repeat([]byte{byte('a' + number%26)}, sizes[number%len(sizes)])
		if _, err := channel.WriteDataChannel(content, number%2 == 1); err != nil {
			return err
		}
		if err := channel.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			return err
		}
		n, isString, err := channel.ReadDataChannel(buffer)
		if err != nil {
			return fmt.Errorf("message %d: %w", number, err)
		}
		if !bytes.Equal(buffer[:n], content) || isString != (number%2 == 1) {
			return fmt.Errorf("message %d came back changed", number)
		}
	}
	return nil
}
