/**
 * Upstreams that mean harm, each on a port of its own. Run as a program it starts them all in one
 * process, so that what they cost is not on the executor's account, and prints their ports as JSON.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';

type Play = (socket: Socket) => void;

/** Writes pieces for as long as the other side takes them. */
function pour(socket: Socket, piece: () => Buffer | string): void {
  const pump = () => {
    while (!socket.destroyed && socket.write(piece()));
  };
  socket.on('drain', pump);
  pump();
}

/** Writes pieces one by one, `everyMs` apart, for ever. */
function drip(socket: Socket, everyMs: number, piece: () => string): void {
  const timer = setInterval(() => socket.write(piece()), everyMs);
  socket.on('close', () => clearInterval(timer));
}

const head = (...headers: string[]) =>
  ['HTTP/1.1 200 OK', 'content-type: application/json', ...headers, '', ''].join('\r\n');
const sized = (body: Buffer, ...headers: string[]): Play => {
  const start = head(...headers, `content-length: ${body.length}`);
  return (socket) => {
    socket.write(start);
    socket.write(body);
  };
};
const cut =
  (text: string): Play =>
  (socket) =>
    socket.end(text);

const zeros = Buffer.alloc(200 * 1024 * 1024);
const gzipBomb = gzipSync(zeros, { level: 9 });
const brotliBomb = brotliCompressSync(zeros, {
  params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 24 },
});
const block = Buffer.alloc(64 * 1024, 'a');
let count = 0;
const header = (value: string) => `x-${(count += 1)}: ${value}\r\n`;
const page = gzipSync('{"text":"hello"}');

const plays: Readonly<Record<string, Play>> = {
  'gzip bomb': sized(gzipBomb, 'content-encoding: gzip'),
  'gzip bomb in many members': (socket) => {
    socket.write(head('content-encoding: gzip'));
    pour(socket, () => gzipBomb);
  },
  'brotli bomb': sized(brotliBomb, 'content-encoding: br'),
  'deflate bomb': sized(deflateSync(zeros, { level: 9 }), 'content-encoding: deflate'),
  'body without end': (socket) => {
    socket.write(head());
    pour(socket, () => block);
  },
  'body of one byte at a time': (socket) => {
    socket.write(head());
    drip(socket, 20, () => '1');
  },
  'hundred thousand headers': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    for (let n = 0; n < 100_000; n += 1) socket.write(header('y'));
    socket.end('\r\n');
  },
  'huge header': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx-a: ');
    pour(socket, () => block);
  },
  'head without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    drip(socket, 20, () => header('y'));
  },
  'flood of interim answers': (socket) =>
    pour(socket, () => 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(100)),
  'continue without end': (socket) => drip(socket, 5, () => 'HTTP/1.1 100 Continue\r\n\r\n'),
  'junk in chunk extensions': (socket) => {
    socket.write(`${head('transfer-encoding: chunked')}1;a=`);
    pour(socket, () => block);
  },
  'bad chunk size': cut(`${head('transfer-encoding: chunked')}zz\r\nhello\r\n0\r\n\r\n`),
  'chunk size that overflows': cut(
    `${head('transfer-encoding: chunked')}ffffffffffffffffff\r\nhello\r\n0\r\n\r\n`,
  ),
  'trailers without end': (socket) => {
    socket.write(`${head('transfer-encoding: chunked')}1\r\n1\r\n0\r\n`);
    pour(socket, () => header('y').repeat(100));
  },
  'two lengths': cut(`${head('content-length: 1', 'content-length: 2')}12`),
  'length and chunks': cut(
    `${head('content-length: 30', 'transfer-encoding: chunked')}1\r\n1\r\n0\r\n\r\n`,
  ),
  'length that is too long': cut(`${head('content-length: 50')}{"a":1}`),
  'length that is too short': cut(`${head('content-length: 1')}1HTTP/1.1 200 OK\r\n\r\nforged`),
  'length that is absurd': cut(`${head('content-length: 99999999999999999999999')}1`),
  'reset before the head': (socket) => socket.resetAndDestroy(),
  'reset within the head': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx-a', () => socket.resetAndDestroy());
  },
  'reset after the head': (socket) => {
    socket.write(head('content-length: 9'), () => setTimeout(() => socket.resetAndDestroy(), 5));
  },
  'end within the body': cut(`${head('transfer-encoding: chunked')}5\r\nhel`),
  silence: () => {},
  'invalid status line': cut('HTTP/1.1 2x0 OK\r\n\r\n'),
  'status that does not exist': cut('HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n'),
  'no HTTP at all': cut(`${'\u0000\u0001\u0002'.repeat(50)}SSH-2.0-OpenSSH_9.9\r\n`),
  'HTTP/0.9': cut('<html>hello</html>'),
  'broken gzip': sized(page.subarray(0, -6), 'content-encoding: gzip'),
  'gzip that is none': sized(Buffer.from('hello'), 'content-encoding: gzip'),
  'redirect to itself': cut('HTTP/1.1 302 Found\r\nlocation: /raw\r\ncontent-length: 0\r\n\r\n'),
  'JSON nested too deeply': sized(Buffer.from('['.repeat(200_000) + ']'.repeat(200_000))),
  'JSON with a million keys': sized(
    Buffer.from(`{${Array.from({ length: 40_000 }, (_, n) => `"k${n}":0`).join()}}`),
  ),
  'NUL and broken UTF-8': sized(Buffer.from([0x22, 0x00, 0xff, 0xfe, 0xc0, 0x80, 0x22])),
  'lone surrogates and __proto__': sized(
    Buffer.from(String.raw`{"__proto__":{"x":"\ud800"},"constructor":"\u0000"}`),
  ),
};

/** An upstream for each play, and one that takes TLS connections without ever greeting. */
export async function startHostileUpstreams(): Promise<Record<string, string>> {
  const urls: Record<string, string> = {};
  for (const [name, play] of [...Object.entries(plays), ['TLS that stalls', () => {}] as const]) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      // One request for each connection, and its head is all that is looked at.
      socket.once('data', () => play(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const scheme = name === 'TLS that stalls' ? 'https' : 'http';
    urls[name] = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/raw`;
  }
  return urls;
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(await startHostileUpstreams())}\n`);
