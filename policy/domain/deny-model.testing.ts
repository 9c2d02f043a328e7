/**
 * The first step of the walk, written a second time: which denies a request meets under all the
 * names that it has. It shares neither code nor types with the product, and is neither fast nor clever.
 * `deny-space.testing.ts` compares the two.
 */
export interface ModelOperation {
  readonly name: string;
  readonly method: string;
  /** With at most one `{id}`, which is letters alone. */
  readonly path: string;
  /** Where its argument is; undefined: it has none. */
  readonly argument?: 'path' | 'query q' | 'body to';
  /** What an argument must look like. */
  readonly schema?: RegExp;
  readonly carriesOthers?: boolean;
}

export interface ModelService {
  readonly name: string;
  readonly template: string;
  readonly writtenBy: 'us' | 'admin' | 'member';
  readonly operations: readonly ModelOperation[];
  /** An MCP server: its operations are tools, and all have this address. */
  readonly endpoint?: string;
}

export interface ModelRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Readonly<Record<string, unknown>> | null;
  /** Undefined: raw HTTP. */
  readonly action?: {
    readonly service: ModelService;
    readonly name: string;
    readonly arg?: string;
  };
  readonly secret?: string;
}

export const modelHost = 'h.example';

/** A name of the request. Undefined: unknown, and so whatever a rule asks for. */
interface Name {
  readonly service: string;
  readonly action: string | ((asked: string) => boolean);
  readonly values: readonly string[] | undefined;
  /** Counts for rules that name the host or the credential only. */
  readonly isInjected?: boolean;
}

export function isDenied(
  services: readonly ModelService[],
  request: ModelRequest,
  deny: string,
): boolean {
  return namesOf(services, request).some((name) => matches(deny, name));
}

function namesOf(services: readonly ModelService[], request: ModelRequest): Name[] {
  const { action, method, path, secret } = request;
  const address = { service: 'http', action: method, values: [modelHost + path] };
  const secrets = secret === undefined ? [] : [secret, secret.replace('org/', '')];
  const credentials = secrets.map((name) => ({
    service: 'secret',
    action: name,
    values: [modelHost],
  }));
  const others = services.flatMap((service) => namesAt(service, services, request));
  if (action === undefined) return [address, ...credentials, ...others];
  const injected = [address, ...credentials].map((name) => ({ ...name, isInjected: true }));
  // (a)
  const own = aliases(action.service).map((service) => ({
    service,
    action: action.name,
    values: action.arg === undefined ? undefined : valuesIn(action.arg),
  }));
  return [...own, ...injected, ...others];
}

/** (b) and (c). */
function namesAt(
  service: ModelService,
  all: readonly ModelService[],
  request: ModelRequest,
): Name[] {
  const name = (action: Name['action'], values: Name['values']) =>
    aliases(service).map((alias) => ({ service: alias, action, values }));
  const tool = request.action?.service.endpoint === undefined ? undefined : request.action.name;
  const carries = (each: ModelService) =>
    each.endpoint === undefined
      ? foundIn(each, request, 'i').some(({ carriesOthers }) => carriesOthers === true)
      : tool !== undefined || isAt(each.endpoint, request.path, 'i');
  const isListed = all.some(
    (each) => each.writtenBy !== 'member' && foundIn(each, request, '').length > 0,
  );
  const isAtCarrier = ({ operations }: ModelService) =>
    operations.some(
      ({ carriesOthers, path }) => carriesOthers === true && isAt(path, request.path, 'i'),
    );
  const isCarrier = all.some(carries) || (!isListed && all.some(isAtCarrier));
  const isKnownElsewhere = isListed && !isCarrier;

  if (service.endpoint !== undefined) {
    if (tool !== undefined) return name(tool, undefined);
    if (isKnownElsewhere && !carries(service)) return [];
    const isTool = (asked: string) => service.operations.some((each) => each.name === asked);
    return name((asked) => !isTool(asked) || request.method === 'POST', undefined);
  }
  const known = [request, withoutFormat(request)].flatMap((read) =>
    foundIn(service, read, 'i').flatMap((operation) =>
      name(operation.name, argumentsOf(operation, read)),
    ),
  );
  const isUnknownHere = isCarrier
    ? !carries(service)
    : foundIn(service, request, '').length === 0 && !isKnownElsewhere;
  if (!isUnknownHere) return known;
  const couldBe = (asked: string) => {
    const operation = service.operations.find((each) => each.name === asked);
    // A POST may be a batch.
    if (operation === undefined || isCarrier || request.method === 'POST') return true;
    const isHere = [request, withoutFormat(request)].some(({ path }) =>
      isAt(operation.path, path, 'i'),
    );
    return isHere || isSame(operation.method, request.method);
  };
  return [...known, ...name(couldBe, undefined)];
}

function aliases({ name, template }: ModelService): string[] {
  return [name, name.replace('org/', ''), template];
}

function foundIn(
  { operations, endpoint }: ModelService,
  { method, path }: ModelRequest,
  flags: string,
): readonly ModelOperation[] {
  if (endpoint !== undefined) return [];
  return operations.filter(
    (operation) => isSame(operation.method, method) && isAt(operation.path, path, flags),
  );
}

/** Some servers take what follows the last dot for the format of the answer. */
function withoutFormat(request: ModelRequest): ModelRequest {
  return { ...request, path: request.path.replace(/\.json$/, '') };
}

function isAt(template: string, path: string, flags: string): boolean {
  const source = template
    .split('{id}')
    .map((part) => RegExp.escape(part))
    .join('[^/]+');
  return new RegExp(`^${source}$`, flags).test(path);
}

function isSame(one: string, other: string): boolean {
  const plain = (method: string) => (method === 'HEAD' ? 'GET' : method);
  return plain(one) === plain(other);
}

function argumentsOf(
  { argument, schema, path }: ModelOperation,
  request: ModelRequest,
): string[] | undefined {
  const given =
    argument === 'path'
      ? [decodeURIComponent(request.path.slice(path.indexOf('{id}')))]
      : argument === 'query q'
        ? named(request.query, 'q')
        : argument === 'body to'
          ? named(request.body ?? {}, 'to')
          : [];
  const values = given.flatMap((each) => (typeof each === 'string' ? valuesIn(each) : [undefined]));
  if (values.length === 0 || values.includes(undefined)) return undefined;
  const isPossible = (value: string) => schema?.test(folded(value)) ?? true;
  if (!values.every((value) => isPossible(value ?? ''))) return undefined;
  // Some servers take a parameter of the query from the body, and of the body from the query.
  const elsewhere = argument === 'query q' ? named(request.body ?? {}, 'q') : [];
  const inQuery = argument === 'body to' ? named(request.query, 'to') : [];
  const others = [...elsewhere, ...inQuery].filter((each) => typeof each === 'string');
  return [...(values as string[]), ...others];
}

function named(from: Readonly<Record<string, unknown>>, name: string): unknown[] {
  return Object.entries(from)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value);
}

/** A list of addresses is one text. */
function valuesIn(text: string): string[] {
  return text.split(',');
}

/** Letter case, `.git` and blanks around it make no difference. */
function folded(text: string): string {
  return text
    .replaceAll('%20', ' ')
    .split('/')
    .map((part) =>
      part
        .trim()
        .toLowerCase()
        .normalize('NFKC')
        .replace(/\.git$/, ''),
    )
    .join('/');
}

function matches(deny: string, { service, action, values, isInjected }: Name): boolean {
  const [wantedService = '', wantedAction = '', ...rest] = deny.split(':');
  const wanted = rest.join(':');
  if (wantedService !== '*' && wantedService !== service) return false;
  if (isInjected === true && !isNamed(wantedAction, wanted, service)) return false;
  const isAnyVerb = service === 'http' && wantedAction === 'ANY';
  const isHead = service === 'http' && wantedAction === 'GET' && action === 'HEAD';
  const isAction =
    wantedAction === '*' ||
    isAnyVerb ||
    isHead ||
    (typeof action === 'string' ? action === wantedAction : action(wantedAction));
  if (!isAction) return false;
  return values === undefined || wanted === '*' || values.some((value) => fits(wanted, value));
}

/** (d): the host is written out, or the secret or its host is named. */
function isNamed(action: string, arg: string, service: string): boolean {
  if (service === 'http') return /^[^*/]+\//.test(arg);
  return action !== '*' || !arg.includes('*');
}

function fits(wanted: string, value: string): boolean {
  const source = folded(wanted)
    .split(/(\*+)/)
    .map((part) => (part === '*' ? '[^/]*' : part.startsWith('*') ? '.*' : RegExp.escape(part)));
  return new RegExp(`^${source.join('')}$`, 's').test(folded(value));
}
