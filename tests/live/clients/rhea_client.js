// AMQP 1.0: send or receive with rhea; prints what the client counted.
'use strict';
const rhea = require('rhea');

const task = JSON.parse(process.argv[2]);
const connection = rhea.connect({
  host: '127.0.0.1',
  port: task.port,
  // Without a password: ANONYMOUS, which both peers take.
  username: 'guest',
  reconnect: false,
  max_frame_size: task.max_frame_size || 65536,
});

function finish(counts) {
  connection.on('connection_close', () => {
    console.log(JSON.stringify(counts));
  });
  connection.close();
}

function send() {
  const counts = { sent: 0, outcomes: {} };
  const total = task.sizes.length;
  let settled = 0;
  const sender = connection.open_sender({
    target: { address: task.address },
    snd_settle_mode: task.presettled ? 1 : 0,
  });
  const count = (outcome) => {
    counts.outcomes[outcome] = (counts.outcomes[outcome] || 0) + 1;
  };
  sender.on('sendable', () => {
    while (sender.sendable() && counts.sent < total) {
      const body = rhea.message.data_section(Buffer.alloc(task.sizes[counts.sent], 'r'));
      sender.send({ message_id: `m${counts.sent}`, body });
      counts.sent += 1;
    }
    // Nobody will answer: the end of the link comes after the last message on the wire.
    if (task.presettled && counts.sent === total) sender.close();
  });
  // By the state itself: rhea tells of a modified delivery as released, too.
  sender.on('settled', (context) => {
    count(context.delivery.remote_state.constructor.composite_type);
    settled += 1;
    if (settled === total) finish(counts);
  });
  sender.on('sender_close', () => finish(counts));
}

function receive() {
  const counts = { received: 0, body_bytes: 0, outcomes: {}, drained: 0 };
  const receiver = connection.open_receiver({
    source: { address: task.address },
    autoaccept: false,
    credit_window: 0,
  });
  const settle = {
    accepted: (delivery) => delivery.accept(),
    released: (delivery) => delivery.release(),
    rejected: (delivery) => delivery.reject({ condition: 'amqp:not-allowed', description: 'no' }),
    modified: (delivery) => delivery.modified({ delivery_failed: true, undeliverable_here: true }),
  };
  receiver.on('receiver_open', () => {
    if (task.drain) receiver.drain = true;
    receiver.add_credit(task.credit);
  });
  receiver.on('message', (context) => {
    const outcome = task.outcomes[counts.received];
    settle[outcome](context.delivery);
    counts.received += 1;
    counts.body_bytes += context.message.body.content.length;
    counts.outcomes[outcome] = (counts.outcomes[outcome] || 0) + 1;
    if (counts.received === task.outcomes.length && !task.drain) finish(counts);
  });
  receiver.on('receiver_drained', () => {
    counts.drained += 1;
    finish(counts);
  });
}

for (const event of ['connection_error', 'session_error', 'disconnected', 'sender_error']) {
  connection.on(event, (context) => {
    if (event === 'disconnected' && !context.error) return;
    console.error(event, String(context.error || (context.session && context.session.error)));
    process.exitCode = 1;
  });
}
connection.once('connection_open', task.role === 'sender' ? send : receive);
