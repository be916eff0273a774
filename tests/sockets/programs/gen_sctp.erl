%% Messages between two sockets of gen_sctp, one of them peeled off.
-module(gen_sctp_test).
-export([main/0]).
-include_lib("kernel/include/inet_sctp.hrl").

main() ->
    {ok, Server} = gen_sctp:open([{ip, {127, 0, 0, 1}}, {active, false}, binary, {reuseaddr, true}, {recbuf, 65536}]),
    {ok, {_, Port}} = inet:sockname(Server),
    ok = gen_sctp:listen(Server, true),
    {ok, Client} = gen_sctp:open([{ip, {127, 0, 0, 1}}, {active, false}, binary]),
    {ok, #sctp_assoc_change{state = comm_up, outbound_streams = Streams, assoc_id = Id}} =
        gen_sctp:connect(Client, {127, 0, 0, 1}, Port, [{sctp_initmsg, #sctp_initmsg{num_ostreams = 5}}]),
    5 = Streams,
    {ok, {_, _, [], #sctp_assoc_change{state = comm_up, assoc_id = There}}} = gen_sctp:recv(Server, 5000),
    [begin
         Content = binary:copy(<<Number:32>>, 1 + Number * 50),
         ok = gen_sctp:send(Client, #sctp_sndrcvinfo{assoc_id = Id, stream = Number rem 5, ppid = Number}, Content),
         {ok, {_, _, [#sctp_sndrcvinfo{stream = Stream, ppid = Number}], Content}} = gen_sctp:recv(Server, 5000),
         Stream = Number rem 5
     end || Number <- lists:seq(1, 100)],
    {ok, Statistics} = inet:getopts(Client, [{sctp_status, #sctp_status{assoc_id = Id}}]),
    [{sctp_status, #sctp_status{state = established}}] = Statistics,
    {ok, Peeled} = gen_sctp:peeloff(Server, There),
    ok = gen_sctp:send(Peeled, 0, 2, <<"from the peeled one">>),
    {ok, {_, _, [#sctp_sndrcvinfo{stream = 2}], <<"from the peeled one">>}} = gen_sctp:recv(Client, 5000),
    %% Active: messages come to the process.
    ok = inet:setopts(Client, [{active, once}]),
    ok = gen_sctp:send(Peeled, 0, 1, <<"active">>),
    receive {sctp, Client, _, _, {_, <<"active">>}} -> ok after 5000 -> halt(3) end,
    ok = gen_sctp:eof(Client, #sctp_assoc_change{assoc_id = Id}),
    ok = gen_sctp:close(Peeled),
    ok = gen_sctp:close(Client),
    ok = gen_sctp:close(Server),
    io:format("all messages came~n"),
    halt(0).
