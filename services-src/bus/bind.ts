type AnyUseCase<Deps> = (deps: Deps, ...asked: readonly unknown[]) => unknown;

/** One use case per endpoint: a function that takes its dependencies before the request. */
export type UseCases<H, Deps> = {
  readonly [Name in keyof H]: H[Name] extends (...asked: infer Asked) => infer Answer
    ? (deps: Deps, ...asked: Asked) => Answer
    : never;
};

/**
 * Makes the handlers of a contract from use cases by passing the dependencies to each of them. `H`
 * is the type of the contract's handlers, such as `Handlers<typeof auth>`, so a missing or unknown
 * endpoint is a type error.
 */
export function bind<H extends object, Deps>(
  deps: Deps,
  useCases: UseCases<NoInfer<H>, NoInfer<Deps>>,
): H {
  const handlers = Object.entries<AnyUseCase<Deps>>(useCases).map(([name, useCase]) => [
    name,
    (...asked: readonly unknown[]) => useCase(deps, ...asked),
  ]);
  return Object.fromEntries(handlers) as H;
}
