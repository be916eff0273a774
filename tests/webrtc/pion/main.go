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

var loggers = logging.NewDefaultLoggerFactory()

func main() {
	local := flag.String("local", "", "address and UDP port of this side")
	peer := flag.String("peer", "", "address and UDP port of the peer")
	server := flag.Bool("server", false, "wait for the DTLS handshake of the peer")
	what := flag.String("what", "echo", "echo or check")
	flag.Parse()
	if err := run(*local, *peer, *server, *what); err != nil {
		log.Fatal(err)
	}
}

func run(local, peer string, server bool, what string) error {
	conn, err := handshake(local, peer, server)
	if err != nil {
		return fmt.Errorf("DTLS: %w", err)
	}
	defer conn.Close()
	// Both sides open the association, as in WebRTC.
	association, err := sctp.Client(sctp.Config{
		NetConn:              conn,
		LoggerFactory:        loggers,
		EnableZeroChecksum:   true,
		MaxReceiveBufferSize: 4 << 20,
	})
	if err != nil {
		return fmt.Errorf("SCTP: %w", err)
	}
	defer association.Close()
	if what == "check" {
		// The client has even streams, the server odd ones.
		first := uint16(0)
		if server {
			first = 1
		}
		return check(association, first)
	}
	return echo(association)
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
func check(association *sctp.Association, first uint16) error {
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
	return nil
}

// checkChannel sends messages one by one and wants each of them back.
func checkChannel(channel *datachannel.DataChannel) error {
	buffer := make([]byte, mostBytes)
	sizes := []int{1, 3, 1000, 1200, 5000, 60000}
	for number := 0; number < 60; number++ {
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
