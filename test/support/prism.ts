import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { lastingPort } from '../../services-src/embedded/index.ts';

/** A request that reached the upstream, exactly as it was sent. */
export interface UpstreamHit {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly body: string;
  readonly status: number;
}

export interface PrismMock extends AsyncDisposable {
  readonly url: string;
  readonly hits: readonly UpstreamHit[];
}

/** An OpenAPI document in the form in which the service's provider published it. */
export interface PublishedDocument {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const { resolve } = createRequire(import.meta.url);

/**
 * Starts Prism's mock of an OpenAPI document. The mock refuses requests that do not match the
 * document. A forwarding server in front of the mock logs the requests.
 */
export async function startPrismMock(document: PublishedDocument): Promise<PrismMock> {
  await using startup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-prism-'));
  startup.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'document.json');
  await writeFile(file, JSON.stringify(document));
  const prismPort = await startPrism(file, startup);

  const hits: UpstreamHit[] = [];
  const forwarder = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      const body = Buffer.concat(chunks);
      const forwardedRequest = httpRequest(
        { host: '127.0.0.1', port: prismPort, method, path: url, headers, agent: false },
        (answer) => {
          const status = answer.statusCode ?? 0;
          hits.push({
            method,
            url,
            authorization: headers.authorization,
            body: body.toString(),
            status,
          });
          outgoing.writeHead(status, answer.headers);
          answer.pipe(outgoing);
        },
      );
      forwardedRequest.on('error', () => outgoing.destroy());
      forwardedRequest.end(body);
    });
  });
  // Keep-alive is off, because the mock or the forwarder could close a connection that the other
  // side is about to use again.
  forwarder.keepAliveTimeout = 0;
  forwarder.listen(0, '127.0.0.1');
  await once(forwarder, 'listening');
  startup.defer(() => {
    forwarder.closeAllConnections();
    forwarder.close();
  });

  const running = startup.move();
  return {
    url: `http://127.0.0.1:${(forwarder.address() as AddressInfo).port}`,
    hits,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Returns a part of a document: some paths, unchanged, and every component that they refer to. */
export function partOf<Document extends PublishedDocument>(
  document: Document,
  isKept: (path: string) => boolean,
): Document {
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => isKept(path)));
  const usedComponents = new Set<string>();
  const collectComponents = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return;
    for (const [key, member] of Object.entries(value)) {
      if (key !== '$ref' || typeof member !== 'string') collectComponents(member);
      else {
        // A reference may point to a part of a component. Then the whole component is needed.
        const [root, section, kind = '', name = ''] = member.split('/');
        const component = [root, section, kind, name].join('/');
        if (usedComponents.has(component)) continue;
        usedComponents.add(component);
        collectComponents(document.components?.[kind]?.[name]);
      }
    }
  };
  collectComponents(paths);
  const components = Object.fromEntries(
    Object.entries(document.components ?? {}).map(([kind, members]) => [
      kind,
      Object.fromEntries(
        Object.entries(members).filter(
          ([name]) =>
            kind === 'securitySchemes' || usedComponents.has(`#/components/${kind}/${name}`),
        ),
      ),
    ]),
  );
  return { ...document, 'x-webhooks': undefined, paths, components };
}

async function startPrism(document: string, startup: AsyncDisposableStack): Promise<number> {
  const port = await lastingPort();
  const prismProgram = join(dirname(resolve('@stoplight/prism-cli/package.json')), 'dist/index.js');
  const child = spawn(
    process.execPath,
    [prismProgram, 'mock', '--errors', '--host', '127.0.0.1', '--port', String(port), document],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  startup.defer(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  // Reads everything that the mock prints. The mock logs every request, and would stop when the
  // pipe is full.
  const isListening = new Promise<boolean>((settle) => {
    child.stdout.on('data', (chunk: Buffer) => {
      if (chunk.includes('listening')) settle(true);
    });
    child.once('exit', () => settle(false));
  });
  if (await isListening) return port;
  throw new Error('Prism ended before it listened');
}
