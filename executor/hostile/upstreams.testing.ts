/**
 * Hostile upstreams, each on its own port. Run as a program, this file starts them all in one
 * process, so that their memory does not count as the executor's, and prints their ports as JSON.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';

type Attack = (socket: Socket) => void;

/** Writes pieces without end, as fast as the other side reads them. */
function writeEndlessly(socket: Socket, piece: () => Buffer | string): void {
  const writeUntilFull = () => {
    while (!socket.destroyed && socket.write(piece()));
  };
  socket.on('drain', writeUntilFull);
  writeUntilFull();
}

/** Writes one piece every `everyMs` milliseconds, without end. */
function writeSlowly(socket: Socket, everyMs: number, piece: () => string): void {
  const timer = setInterval(() => socket.write(piece()), everyMs);
  socket.on('close', () => clearInterval(timer));
}

const toResponseHead = (...headers: string[]) =>
  ['HTTP/1.1 200 OK', 'content-type: application/json', ...headers, '', ''].join('\r\n');
const answerSized = (body: Buffer, ...headers: string[]): Attack => {
  const start = toResponseHead(...headers, `content-length: ${body.length}`);
  return (socket) => {
    socket.write(start);
    socket.write(body);
  };
};
const answerAndCut =
  (text: string): Attack =>
  (socket) =>
    socket.end(text);

const zeros = Buffer.alloc(200 * 1024 * 1024);
const gzipBomb = gzipSync(zeros, { level: 9 });
const brotliBomb = brotliCompressSync(zeros, {
  params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 24 },
});
const block = Buffer.alloc(64 * 1024, 'a');
let count = 0;
const nextHeader = (value: string) => `x-${(count += 1)}: ${value}\r\n`;
const page = gzipSync('{"text":"hello"}');

const attacks: Readonly<Record<string, Attack>> = {
  'gzip bomb': answerSized(gzipBomb, 'content-encoding: gzip'),
  'gzip bomb in many members': (socket) => {
    socket.write(toResponseHead('content-encoding: gzip'));
    writeEndlessly(socket, () => gzipBomb);
  },
  'brotli bomb': answerSized(brotliBomb, 'content-encoding: br'),
  'deflate bomb': answerSized(deflateSync(zeros, { level: 9 }), 'content-encoding: deflate'),
  'body without end': (socket) => {
    socket.write(toResponseHead());
    writeEndlessly(socket, () => block);
  },
  'body of one byte at a time': (socket) => {
    socket.write(toResponseHead());
    writeSlowly(socket, 20, () => '1');
  },
  'hundred thousand headers': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    for (let n = 0; n < 100_000; n += 1) socket.write(nextHeader('y'));
    socket.end('\r\n');
  },
  'huge header': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx-a: ');
    writeEndlessly(socket, () => block);
  },
  'head without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    writeSlowly(socket, 20, () => nextHeader('y'));
  },
  'flood of interim answers': (socket) =>
    writeEndlessly(socket, () => 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(100)),
  'continue without end': (socket) => writeSlowly(socket, 5, () => 'HTTP/1.1 100 Continue\r\n\r\n'),
  'junk in chunk extensions': (socket) => {
    socket.write(`${toResponseHead('transfer-encoding: chunked')}1;a=`);
    writeEndlessly(socket, () => block);
  },
  'bad chunk size': answerAndCut(
    `${toResponseHead('transfer-encoding: chunked')}zz\r\nhello\r\n0\r\n\r\n`,
  ),
  'chunk size that overflows': answerAndCut(
    `${toResponseHead('transfer-encoding: chunked')}ffffffffffffffffff\r\nhello\r\n0\r\n\r\n`,
  ),
  'trailers without end': (socket) => {
    socket.write(`${toResponseHead('transfer-encoding: chunked')}1\r\n1\r\n0\r\n`);
    writeEndlessly(socket, () => nextHeader('y').repeat(100));
  },
  'two lengths': answerAndCut(`${toResponseHead('content-length: 1', 'content-length: 2')}12`),
  'length and chunks': answerAndCut(
    `${toResponseHead('content-length: 30', 'transfer-encoding: chunked')}1\r\n1\r\n0\r\n\r\n`,
  ),
  'length that is too long': answerAndCut(`${toResponseHead('content-length: 50')}{"a":1}`),
  'length that is too short': answerAndCut(
    `${toResponseHead('content-length: 1')}1HTTP/1.1 200 OK\r\n\r\nforged`,
  ),
  'length that is absurd': answerAndCut(
    `${toResponseHead('content-length: 99999999999999999999999')}1`,
  ),
  'reset before the head': (socket) => socket.resetAndDestroy(),
  'reset within the head': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx-a', () => socket.resetAndDestroy());
  },
  'reset after the head': (socket) => {
    socket.write(toResponseHead('content-length: 9'), () =>
      setTimeout(() => socket.resetAndDestroy(), 5),
    );
  },
  'end within the body': answerAndCut(`${toResponseHead('transfer-encoding: chunked')}5\r\nhel`),
  silence: () => {},
  'invalid status line': answerAndCut('HTTP/1.1 2x0 OK\r\n\r\n'),
  'status that does not exist': answerAndCut('HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n'),
  'no HTTP at all': answerAndCut(`${'\u0000\u0001\u0002'.repeat(50)}SSH-2.0-OpenSSH_9.9\r\n`),
  'HTTP/0.9': answerAndCut('<html>hello</html>'),
  'broken gzip': answerSized(page.subarray(0, -6), 'content-encoding: gzip'),
  'gzip that is none': answerSized(Buffer.from('hello'), 'content-encoding: gzip'),
  'redirect to itself': answerAndCut(
    'HTTP/1.1 302 Found\r\nlocation: /raw\r\ncontent-length: 0\r\n\r\n',
  ),
  'JSON nested too deeply': answerSized(Buffer.from('['.repeat(200_000) + ']'.repeat(200_000))),
  'JSON with a million keys': answerSized(
    Buffer.from(`{${Array.from({ length: 40_000 }, (_, n) => `"k${n}":0`).join()}}`),
  ),
  'NUL and broken UTF-8': answerSized(Buffer.from([0x22, 0x00, 0xff, 0xfe, 0xc0, 0x80, 0x22])),
  'lone surrogates and __proto__': answerSized(
    Buffer.from(String.raw`{"__proto__":{"x":"\ud800"},"constructor":"\u0000"}`),
  ),
};

/**
 * Starts one upstream for each attack, and one more that accepts TLS connections and never answers
 * the handshake.
 */
export async function startHostileUpstreams(): Promise<Record<string, string>> {
  const urls: Record<string, string> = {};
  for (const [name, play] of [...Object.entries(attacks), ['TLS that stalls', () => {}] as const]) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      // Serves one request per connection, and reads only the head of the request.
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
