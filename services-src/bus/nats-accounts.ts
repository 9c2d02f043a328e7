import { busContracts } from '../contracts/all.ts';
import { subjectOf } from '../contracts/define.ts';
import type { Contract } from '../contracts/define.ts';
import {
  durableConsumers,
  eventsStream,
  plainPublications,
  plainSubscriptions,
} from '../contracts/events.ts';
import { filesPublications, filesRequests } from '../contracts/files.ts';
import { components } from '../contracts/vocabulary.ts';
import type { Component } from '../contracts/vocabulary.ts';
import { accountOf, readerOf, storeAccount, storeApi } from './accounts.ts';
import type { BusUser } from './accounts.ts';

/** A subject that one account lets another use: the only ways out of an account. */
interface Crossing {
  readonly kind: 'service' | 'stream';
  readonly exporter: string;
  readonly importer: Component;
  /** As the exporter names it to everybody. */
  readonly exported: string;
  /** The same for this importer alone, when it differs. */
  readonly imported?: string;
  /** As the importer's users name it. */
  readonly local: string;
  /** Details of the export, in the server's notation. */
  readonly terms?: string;
  /** The user of the importing account that may publish to it; unset for what is only heard. */
  readonly user?: BusUser;
}

export interface NatsUser {
  readonly name: BusUser;
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** How long it may take to answer a request; unset for a user that answers none. */
  readonly answerMs?: number;
}

/** A late answer is dropped by the server without a word, so it waits for longer than any caller. */
const answerMarginMs = 30_000;

const contracts: readonly Contract[] = Object.values(busContracts);

/** Who calls what: the server appends the caller's account to the subject on which the owner hears the request. */
function endpointCrossings(): Crossing[] {
  return contracts.flatMap((contract) =>
    Object.entries(contract.endpoints).flatMap(([name, { callers, timeoutMs }]) => {
      const subject = subjectOf(contract, name);
      const position = subject.split('.').length + 1;
      return callers.map((caller) => ({
        kind: 'service' as const,
        exporter: accountOf(contract.owner),
        importer: caller,
        exported: `${subject}.*`,
        imported: `${subject}.${accountOf(caller)}`,
        local: subject,
        terms: `account_token_position: ${position}, response_threshold: "${seconds(timeoutMs + answerMarginMs)}"`,
        user: caller,
      }));
    }),
  );
}

/**
 * What a component uses of JetStream. Never a wildcard of its API, and nothing that makes or changes
 * a consumer or stream: a push consumer delivers in the store's account, under any subject.
 */
function storeCrossings(): Crossing[] {
  const service = (importer: Component, subject: string, more: Partial<Crossing> = {}) => ({
    kind: 'service' as const,
    exporter: storeAccount,
    importer,
    exported: subject,
    // Under its own name it would be answered twice: every account has a `$JS.API.>` of its own.
    local: subject.replace(/^\$JS\.API\./, `${storeApi}.`),
    user: importer,
    ...more,
  });
  const files: Partial<Record<Component, readonly string[]>> = {
    executor: filesPublications.executor,
    gateway: filesRequests.gateway,
  };
  return [
    ...components.flatMap((component) => [
      service(component, `evt.${component}.>`),
      service(component, `aud.${component}.>`),
      ...(files[component] ?? []).map((subject) => service(component, subject)),
    ]),
    ...Object.entries(durableConsumers).flatMap(([durable, { owner }]) => {
      const consumer = `${eventsStream}.${durable}`;
      const user = readerOf(owner);
      return [
        service(owner, `$JS.API.CONSUMER.INFO.${consumer}`, { user }),
        service(owner, `$JS.API.CONSUMER.MSG.NEXT.${consumer}`, {
          user,
          terms: 'response_type: stream',
        }),
        service(owner, `$JS.ACK.${consumer}.>`, { user }),
      ];
    }),
  ];
}

/** Plain subscriptions to what another component publishes; its own it hears in its own account. */
function subscriptionCrossings(): Crossing[] {
  const plain: Partial<Record<Component, readonly string[]>> = plainPublications;
  const publisherOf = (subject: string) =>
    components.find(
      (component) =>
        subject.startsWith(`evt.${component}.`) || plain[component]?.includes(subject) === true,
    );
  return components.flatMap((importer) =>
    plainSubscriptions[importer].flatMap((subject) => {
      const publisher = publisherOf(subject);
      if (publisher === undefined) throw new Error(`nobody publishes ${subject}`);
      if (publisher === importer) return [];
      const exporter = accountOf(publisher);
      return [{ kind: 'stream' as const, exporter, importer, exported: subject, local: subject }];
    }),
  );
}

const crossings = [...endpointCrossings(), ...storeCrossings(), ...subscriptionCrossings()];

/**
 * The NATS users of one component and what each may say and hear, from the contracts alone. The one
 * that reads the stream is apart: for a user with `allow_responses` the server remembers the reply
 * subject of everything that it delivers, and its deliveries have one each.
 */
export function usersOf(component: Component): NatsUser[] {
  const plain: Partial<Record<Component, readonly string[]>> = plainPublications;
  const publish = (user: BusUser) =>
    crossings.flatMap((each) => (each.user === user ? [each.local] : []));
  const answers = contracts
    .filter(({ owner }) => owner === component)
    .flatMap(({ endpoints }) => Object.values(endpoints).map(({ timeoutMs }) => timeoutMs));
  const main: NatsUser = {
    name: component,
    publish: [...publish(component), ...(plain[component] ?? [])],
    subscribe: [
      ...(answers.length > 0 ? [`rpc.${component}.>`] : []),
      `_INBOX_${component}.>`,
      ...plainSubscriptions[component],
    ],
    ...(answers.length > 0 && { answerMs: Math.max(...answers) + answerMarginMs }),
  };
  const reader = readerOf(component);
  const read = publish(reader);
  return read.length === 0
    ? [main]
    : [main, { name: reader, publish: read, subscribe: [`_INBOX_${reader}.>`] }];
}

/**
 * The `accounts` block of nats.conf: one account per component, in which nothing exists but its own
 * inbox, what it may call and what it hears, and the store's, which owns every stream. So a reply
 * subject that a requester chose, or a delivery of JetStream, reaches nothing that the requester
 * could not publish to anyway. Users stand only inside accounts, so there is no implicit global
 * account (CVE-2023-47090); only `provision`, used at migration, logs in to the store's.
 *
 * `passwordOf` gives passwords as nats.conf writes them: quoted, or as `$VARIABLE`. An unquoted
 * one is read as a number or a date when it happens to begin like one.
 */
export function natsAccounts(passwordOf: (user: Component | 'provision') => string): string {
  const provision = renderUser(
    { name: 'provision', publish: ['$JS.API.>'], subscribe: ['_INBOX_provision.>'] },
    passwordOf('provision'),
  );
  const accounts = [
    renderAccount(storeAccount, {
      head: '    # The store. Streams lie on disk under the name of their account: do not change it.\n    jetstream: enabled\n',
      users: [provision],
      exports: exportsOf(storeAccount),
      imports: [],
    }),
    ...components.map((component) =>
      renderAccount(accountOf(component), {
        head: '',
        users: usersOf(component).map((user) => renderUser(user, passwordOf(component))),
        exports: exportsOf(accountOf(component)),
        imports: crossings.filter(({ importer }) => importer === component).map(renderImport),
      }),
    ),
  ];
  return `accounts {\n${accounts.join('')}}\n`;
}

function renderAccount(
  name: string,
  parts: Record<'users' | 'exports' | 'imports', readonly string[]> & { readonly head: string },
): string {
  const list = (key: 'users' | 'exports' | 'imports') =>
    parts[key].length === 0
      ? ''
      : `    ${key}: [\n${parts[key].map((line) => `      ${line}\n`).join('')}    ]\n`;
  return `  ${name} {\n${parts.head}${list('users')}${list('exports')}${list('imports')}  }\n`;
}

function renderUser({ name, publish, subscribe, answerMs }: NatsUser, password: string): string {
  // An empty list would allow everything.
  const published = publish.length === 0 ? 'deny: [">"]' : `allow: [${quoted(publish)}]`;
  const responses =
    answerMs === undefined ? '' : `, allow_responses: { max: 1, expires: "${seconds(answerMs)}" }`;
  return `{ user: ${name}, password: ${password}, permissions: { publish: { ${published} }, subscribe: { allow: [${quoted(subscribe)}] }${responses} } }`;
}

/** One export per subject, for the accounts that import it. */
function exportsOf(account: string): string[] {
  const own = crossings.filter(({ exporter }) => exporter === account);
  return [...Map.groupBy(own, ({ kind, exported }) => `${kind}: "${exported}"`)].map(
    ([subject, group]) => {
      const importers = group.map(({ importer }) => accountOf(importer)).join(', ');
      const terms = group[0]?.terms === undefined ? '' : `, ${group[0].terms}`;
      return `{ ${subject}${terms}, accounts: [${importers}] }`;
    },
  );
}

function renderImport({ kind, exporter, exported, imported, local }: Crossing): string {
  const subject = imported ?? exported;
  const rename = local === subject ? '' : `, to: "${local}"`;
  return `{ ${kind}: { account: ${exporter}, subject: "${subject}" }${rename} }`;
}

function quoted(subjects: readonly string[]): string {
  return subjects.map((subject) => JSON.stringify(subject)).join(', ');
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)}s`;
}
