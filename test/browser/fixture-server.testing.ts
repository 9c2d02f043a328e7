import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';
import { ann } from './fixtures.testing.ts';

const dist = fileURLToPath(new URL('../../dashboard/dist/', import.meta.url));
const mediaTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** The dashboard's build, and just enough of the API to put it into states that the real gateway is seldom in. */
export interface FixtureServer extends AsyncDisposable {
  readonly url: string;
  me: Me | null;
  approvals: ApprovalResponse[];
  /** The next answers to requests whose path begins so, in place of the usual ones. */
  readonly failures: { path: string; status: number; body?: object }[];
  /** Approvals that a person has run. */
  readonly calls: string[];
  readonly resolutions: (ResolveApprovalBody & { id: string })[];
  /** What happens just before the next decision arrives. */
  beforeResolve: () => void;
  /** Changes an approval as somebody else would, and announces it. */
  change(id: string, differences: Partial<ApprovalResponse>, type?: string): void;
  raise(approval: ApprovalResponse): void;
  announce(type: string, data: object): void;
  /** Ends all event streams; they may come back. */
  cutStreams(): void;
}

export async function startFixtureServer(): Promise<FixtureServer> {
  const streams = new Set<ServerResponse>();
  let position = 0;
  const fixture = {
    me: ann as Me | null,
    approvals: [] as ApprovalResponse[],
    failures: [] as { path: string; status: number; body?: object }[],
    resolutions: [] as (ResolveApprovalBody & { id: string })[],
    calls: [] as string[],
    beforeResolve: () => {},
    change(id: string, differences: Partial<ApprovalResponse>, type = 'approval.resolved') {
      fixture.approvals = fixture.approvals.map((approval) =>
        approval.id === id ? { ...approval, ...differences } : approval,
      );
      fixture.announce(type, { approval_id: id });
    },
    raise(approval: ApprovalResponse) {
      fixture.approvals = [approval, ...fixture.approvals];
      fixture.announce('approval.raised', approval);
    },
    announce(type: string, data: object) {
      position += 1;
      const body = { id: String(position), type, created_at: '', org_id: '', data };
      for (const stream of streams) {
        stream.write(`id: ${position}\nevent: ${type}\ndata: ${JSON.stringify(body)}\n\n`);
      }
    },
    cutStreams() {
      for (const stream of streams) stream.destroy();
    },
  };

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fixture');
    if (!pathname.startsWith('/v1/')) return sendFile(pathname, response);
    const at = fixture.failures.findIndex(({ path }) => pathname.startsWith(path));
    const [failure] = at === -1 ? [] : fixture.failures.splice(at, 1);
    if (failure !== undefined) {
      return send(response, failure.status, failure.body ?? envelope('internal'));
    }
    if (fixture.me === null) return send(response, 401, envelope('unauthenticated'));
    if (pathname === '/v1/identities/me') return send(response, 200, fixture.me);
    if (pathname === '/v1/sign-out') {
      fixture.me = null;
      return send(response, 204);
    }
    if (pathname === '/v1/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('retry: 100\n\n');
      streams.add(response);
      response.once('close', () => streams.delete(response));
      return undefined;
    }
    const [, id, verb] = /^\/v1\/approvals(?:\/([^/]+))?(?:\/(\w+))?$/.exec(pathname) ?? [];
    if (id === undefined) return send(response, 200, list(searchParams.get('status')));
    if (verb === 'resolve') fixture.beforeResolve();
    const approval = fixture.approvals.find((each) => each.id === id);
    if (approval === undefined) return send(response, 404, envelope('not_found'));
    if (verb === 'resolve') {
      const body = JSON.parse(await text(request)) as ResolveApprovalBody;
      return resolve(response, approval, body);
    }
    if (verb === 'call') fixture.calls.push(approval.id);
    return send(response, 200, approval);
  }

  function list(status: string | null) {
    const isOpen = ({ status: own }: ApprovalResponse) => own === 'pending' || own === 'bubbled';
    const items = fixture.approvals.filter((each) => status !== 'open' || isOpen(each));
    return { items, next_cursor: null };
  }

  function resolve(
    response: ServerResponse,
    approval: ApprovalResponse,
    body: ResolveApprovalBody,
  ) {
    if (approval.status !== 'pending' && approval.status !== 'bubbled') {
      return send(response, 409, envelope('already_resolved'));
    }
    const isRefused =
      approval.request.too_large === true &&
      body.resolution.startsWith('allow') &&
      !(body.resolution === 'allow' && body.acknowledge === 'too_large');
    if (isRefused) return send(response, 422, envelope('acknowledgement_required'));
    fixture.resolutions.push({ id: approval.id, ...body });
    const isAllowed = body.resolution.startsWith('allow');
    const now = new Date().toISOString();
    fixture.change(approval.id, {
      status: isAllowed ? 'allowed' : 'denied',
      resolution: body.resolution as 'allow',
      reason: body.reason ?? null,
      resolved_at: now,
      resolved_by: { id: ann.id, kind: 'user', name: ann.name, path: ann.path },
      ...(isAllowed
        ? {
            execution: {
              id: 'e',
              status: 'pending',
              runtime: 'http',
              triggered_by: null,
              created_at: now,
              started_at: null,
              finished_at: null,
              expires_at: new Date(Date.now() + 15 * 60_000).toISOString(),
            },
          }
        : {}),
    });
    return send(
      response,
      200,
      fixture.approvals.find(({ id }) => id === approval.id),
    );
  }

  server.listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  return Object.assign(fixture, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  });
}

function envelope(error: string) {
  return { error, message: `A sentence for ${error}.`, request_id: `request-${error}` };
}

function send(response: ServerResponse, status: number, body?: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

async function sendFile(pathname: string, response: ServerResponse): Promise<void> {
  const name = extname(pathname) === '' ? 'index.html' : pathname;
  const content = await readFile(join(dist, name));
  response.writeHead(200, {
    'content-type': mediaTypes[extname(name)] ?? 'application/octet-stream',
    'content-security-policy':
      "default-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  });
  response.end(content);
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
