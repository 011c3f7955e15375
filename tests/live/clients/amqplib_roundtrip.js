// AMQP 0-9-1: publish with confirms, consume, acknowledge; prints what the client counted.
'use strict';
const amqp = require('amqplib');

const { port, queue, bodies, multiple } = JSON.parse(process.argv[2]);

async function main() {
  const counts = { published: 0, confirmed: 0, delivered: 0, ack_frames: 0, received: [] };
  const connection = await amqp.connect({ hostname: '127.0.0.1', port });
  const publisher = await connection.createConfirmChannel();
  await publisher.assertQueue(queue, { durable: false });
  for (const [i, body] of bodies.entries()) {
    const properties = { messageId: `m${i}`, contentType: 'text/plain', headers: { i } };
    publisher.sendToQueue(queue, Buffer.from(body), properties, (error) => {
      if (error === null) counts.confirmed += 1;
    });
    counts.published += 1;
  }
  await publisher.waitForConfirms();

  const consumer = await connection.createChannel();
  await consumer.prefetch(2 * multiple);
  await new Promise((resolve, reject) => {
    consumer.on('error', reject);
    consumer.consume(queue, (message) => {
      counts.delivered += 1;
      counts.received.push(message.properties.messageId);
      const isLast = counts.delivered === bodies.length;
      if (isLast || counts.delivered % multiple === 0) {
        consumer.ack(message, true);
        counts.ack_frames += 1;
      }
      if (isLast) resolve();
    });
  });
  await consumer.close();
  await publisher.close();
  await connection.close();
  console.log(JSON.stringify(counts));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
