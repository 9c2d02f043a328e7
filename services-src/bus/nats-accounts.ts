import { busContracts } from '../contracts/all.ts';
import { subjectOf } from '../contracts/define.ts';
import type { Contract } from '../contracts/define.ts';
import {
  durableConsumers,
  outboxOwners,
  plainPublications,
  plainSubscriptions,
  streams,
} from '../contracts/events.ts';
import { filesPublications, filesRequests } from '../contracts/files.ts';
import { components } from '../contracts/vocabulary.ts';
import type { Component } from '../contracts/vocabulary.ts';
import {
  accountOf,
  importedReplyPrefix,
  readerOf,
  storeAccount,
  storeApiPrefix,
} from './accounts.ts';
import type { BusUser } from './accounts.ts';

/**
 * A subject that one account exports and another imports. Messages leave an account only in this
 * way.
 */
interface Crossing {
  readonly kind: 'service' | 'stream';
  readonly exporter: string;
  readonly importer: Component;
  /** The subject in the export, which is the same for all accounts that import it. */
  readonly exported: string;
  /** The subject that this importer imports, when it is narrower than the exported one. */
  readonly imported?: string;
  /** The subject that the importing account's users see. */
  readonly local: string;
  /** Further options of the export, in the server's notation. */
  readonly exportOptions?: string;
  /**
   * The user of the importing account that may publish to the subject; unset when users only
   * subscribe to it.
   */
  readonly user?: BusUser;
}

export interface NatsUser {
  readonly name: BusUser;
  readonly publishSubjects: readonly string[];
  readonly subscribeSubjects: readonly string[];
}

/**
 * The NATS server silently drops an answer that comes later than this, so the limit must be longer
 * than any caller waits.
 */
const answerMarginMs = 30_000;

const contracts: readonly Contract[] = Object.values(busContracts);

/**
 * The endpoints that each component may call. The NATS server appends the caller's account to the
 * subject on which the called component receives the request.
 */
function listEndpointCrossings(): Crossing[] {
  return contracts.flatMap((contract) =>
    Object.entries(contract.endpoints).flatMap(([name, { callers, timeoutMs }]) => {
      const subject = subjectOf(contract, name);
      const accountTokenPosition = subject.split('.').length + 1;
      return callers.map((caller) => ({
        kind: 'service' as const,
        exporter: accountOf(contract.owner),
        importer: caller,
        exported: `${subject}.*`,
        imported: `${subject}.${accountOf(caller)}`,
        local: subject,
        exportOptions: `account_token_position: ${accountTokenPosition}, response_threshold: "${toSecondsText(timeoutMs + answerMarginMs)}"`,
        user: caller,
      }));
    }),
  );
}

/**
 * The JetStream subjects that components use. None is a wildcard of the API, and none creates or
 * changes a consumer or stream: a push consumer could deliver messages under any subject of the
 * account that owns the streams.
 */
function listStoreCrossings(): Crossing[] {
  const makeServiceCrossing = (
    importer: Component,
    subject: string,
    options: Partial<Crossing> = {},
  ) => ({
    kind: 'service' as const,
    exporter: storeAccount,
    importer,
    exported: subject,
    // Every account answers `$JS.API.>` itself. Under that prefix the request would get two
    // answers.
    local: subject.replace(/^\$JS\.API\./, `${storeApiPrefix}.`),
    user: importer,
    ...options,
  });
  const fileSubjects: Partial<Record<Component, readonly string[]>> = {
    executor: filesPublications.executor,
    gateway: filesRequests.gateway,
  };
  return [
    ...components.flatMap((component) => [
      makeServiceCrossing(component, `evt.${component}.>`),
      makeServiceCrossing(component, `aud.${component}.>`),
      ...(fileSubjects[component] ?? []).map((subject) => makeServiceCrossing(component, subject)),
    ]),
    // From the answer to this request, the relays learn that a stream was lost, and the gateway
    // learns how full the stream is.
    ...streams.flatMap((stream) =>
      (['gateway', ...outboxOwners] as const).map((component) =>
        makeServiceCrossing(component, `$JS.API.STREAM.INFO.${stream}`),
      ),
    ),
    ...Object.entries(durableConsumers).flatMap(([durable, { stream, owner }]) => {
      const consumer = `${stream}.${durable}`;
      const user = readerOf(owner);
      return [
        makeServiceCrossing(owner, `$JS.API.CONSUMER.INFO.${consumer}`, { user }),
        // The gateway reports on a consumer whose owner is absent, because the owner cannot.
        makeServiceCrossing('gateway', `$JS.API.CONSUMER.INFO.${consumer}`),
        makeServiceCrossing(owner, `$JS.API.CONSUMER.MSG.NEXT.${consumer}`, {
          user,
          exportOptions: 'response_type: stream',
        }),
        makeServiceCrossing(owner, `$JS.ACK.${consumer}.>`, { user }),
      ];
    }),
  ];
}

/**
 * The plain subscriptions of components to other components' publications. A component receives its
 * own publications in its own account.
 */
function listSubscriptionCrossings(): Crossing[] {
  const plainSubjects: Partial<Record<Component, readonly string[]>> = plainPublications;
  const publisherOf = (subject: string) =>
    components.find(
      (component) =>
        subject.startsWith(`evt.${component}.`) ||
        plainSubjects[component]?.includes(subject) === true,
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

const crossings = [
  ...listEndpointCrossings(),
  ...listStoreCrossings(),
  ...listSubscriptionCrossings(),
];

/**
 * The NATS users of one component, with the subjects to which each may publish and subscribe,
 * derived from the contracts. A separate user reads the event stream.
 *
 * A user that answers requests may publish to all reply subjects of requests that crossed accounts
 * (docs/adr/0045-one-nats-account-per-component.md).
 */
export function usersOf(component: Component): NatsUser[] {
  const plainSubjects: Partial<Record<Component, readonly string[]>> = plainPublications;
  const publishSubjectsOf = (user: BusUser) =>
    crossings.flatMap((each) => (each.user === user ? [each.local] : []));
  const answersRequests = contracts.some(({ owner }) => owner === component);
  const mainUser: NatsUser = {
    name: component,
    publishSubjects: [
      ...publishSubjectsOf(component),
      ...(plainSubjects[component] ?? []),
      ...(answersRequests ? [`${importedReplyPrefix}>`] : []),
    ],
    subscribeSubjects: [
      ...(answersRequests ? [`rpc.${component}.>`] : []),
      `_INBOX_${component}.>`,
      ...plainSubscriptions[component],
    ],
  };
  const reader = readerOf(component);
  const readSubjects = publishSubjectsOf(reader);
  return readSubjects.length === 0
    ? [mainUser]
    : [
        mainUser,
        { name: reader, publishSubjects: readSubjects, subscribeSubjects: [`_INBOX_${reader}.>`] },
      ];
}

/**
 * Writes the `accounts` block of nats.conf. Each component has an account that contains only its
 * own inbox, the subjects that it may call and the subjects that it receives; a separate account
 * owns every stream. So neither a reply subject that a requester chose nor a delivery of JetStream
 * can send a message to a subject to which the requester could not publish anyway. Every user is in
 * an account, so there is no implicit global account (CVE-2023-47090). Only the user `provision`,
 * which the migration uses, logs in to the account that owns the streams.
 *
 * `passwordOf` returns a password in the notation of nats.conf: quoted, or as `$VARIABLE`. The
 * server would read an unquoted password that starts like a number or a date as one.
 */
export function renderNatsAccounts(passwordOf: (user: Component | 'provision') => string): string {
  const provision = renderUser(
    // The migration publishes records when it moves them out of the single stream of an earlier
    // version.
    {
      name: 'provision',
      publishSubjects: ['$JS.API.>', 'aud.>'],
      subscribeSubjects: ['_INBOX_provision.>'],
    },
    passwordOf('provision'),
  );
  const accounts = [
    renderAccount(storeAccount, {
      head: '    # The store. NATS stores streams under the name of their account: do not change it.\n    jetstream: enabled\n',
      users: [provision],
      exports: renderExports(storeAccount),
      imports: [],
    }),
    ...components.map((component) =>
      renderAccount(accountOf(component), {
        head: '',
        users: usersOf(component).map((user) => renderUser(user, passwordOf(component))),
        exports: renderExports(accountOf(component)),
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
  const renderList = (key: 'users' | 'exports' | 'imports') =>
    parts[key].length === 0
      ? ''
      : `    ${key}: [\n${parts[key].map((line) => `      ${line}\n`).join('')}    ]\n`;
  return `  ${name} {\n${parts.head}${renderList('users')}${renderList('exports')}${renderList('imports')}  }\n`;
}

function renderUser(
  { name, publishSubjects: publish, subscribeSubjects: subscribe }: NatsUser,
  password: string,
): string {
  // The NATS server reads an empty list of subjects as permission for all subjects.
  const publishPermission =
    publish.length === 0 ? 'deny: [">"]' : `allow: [${quoteSubjects(publish)}]`;
  return `{ user: ${name}, password: ${password}, permissions: { publish: { ${publishPermission} }, subscribe: { allow: [${quoteSubjects(subscribe)}] } } }`;
}

/** Writes one export per subject of the account, with the accounts that import it. */
function renderExports(account: string): string[] {
  const ownCrossings = crossings.filter(({ exporter }) => exporter === account);
  return [...Map.groupBy(ownCrossings, ({ kind, exported }) => `${kind}: "${exported}"`)].map(
    ([subject, group]) => {
      const importers = group.map(({ importer }) => accountOf(importer)).join(', ');
      const exportOptions =
        group[0]?.exportOptions === undefined ? '' : `, ${group[0].exportOptions}`;
      return `{ ${subject}${exportOptions}, accounts: [${importers}] }`;
    },
  );
}

function renderImport({ kind, exporter, exported, imported, local }: Crossing): string {
  const subject = imported ?? exported;
  const renameText = local === subject ? '' : `, to: "${local}"`;
  return `{ ${kind}: { account: ${exporter}, subject: "${subject}" }${renameText} }`;
}

function quoteSubjects(subjects: readonly string[]): string {
  return subjects.map((subject) => JSON.stringify(subject)).join(', ');
}

function toSecondsText(ms: number): string {
  return `${Math.ceil(ms / 1000)}s`;
}
