/**
 * What a tool declares it needs. A tool gets what it declared *and* the host granted; `*` in a list means
 * everything the host's own policy lists, never more.
 */
export interface CapabilityRequest {
  /** Host names, `*.example.com` for subdomains. */
  network?: string[]
  /** Names of secrets. */
  secrets?: string[]
  storage?: true
  /** Paths below which files may be read or written. */
  fs_reach?: { read?: string[]; write?: string[] }
  /** Commands that may be started, without a shell. */
  process?: string[]
  attachments?: true
}

/** The name of a capability, as a tool declares it and as its handle is called in the context. */
export type CapabilityName = keyof CapabilityRequest

/**
 * Why a capability did not do what it was asked, inside a call. `code` is the code the call's result should carry;
 * `message` names the next step. `denied` is a refusal: what was asked lies outside of what was granted.
 */
export class CapabilityError extends Error {
  override readonly name = 'CapabilityError'
  readonly code: 'denied' | 'not_available' | 'input_invalid' | 'execution_failed' | 'timeout' | 'cancelled'

  constructor(code: CapabilityError['code'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** A file that came with the user's message. */
export interface Attachment {
  readonly name: string
  readonly mimeType: string
  readonly data: Uint8Array | string
}

/** `ctx.network`: fetch, within the granted hosts. The body has arrived, within the host's limits, once it resolves. */
export interface NetworkAccess {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
}

/** `ctx.secrets`: named values. `get` throws, with the name, for one that was not declared or not granted. */
export interface SecretAccess {
  get(name: string): string
}

/** `ctx.storage`: a key-value store that only this tool sees, or the few tools the host lets share one. */
export interface StorageAccess {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
  /** Every key, sorted. */
  keys(): Promise<string[]>
  /**
   * Reads, changes and writes as one step: calls that run side by side lose nothing. `change` is given what is
   * there and returns what shall be there, undefined for nothing; its answer is returned.
   */
  update(key: string, change: (value: string | undefined) => string | undefined): Promise<string | undefined>
}

/** What is known of a file without reading it. */
export interface FileInfo {
  /** The real path. */
  readonly path: string
  readonly name: string
  /** Links appear only in lists; everywhere else they are followed, as far as they stay within the roots. */
  readonly kind: 'file' | 'directory' | 'link' | 'other'
  readonly size: number
}

/**
 * `ctx.fs_reach`: files below the granted roots. Every path is resolved to its real path before it is touched;
 * relative paths start at the host's base directory.
 */
export interface FileAccess {
  readFile(path: string): Promise<Uint8Array>
  /** Replaces the file as a whole, so that no reader sees half of it; missing directories are made. */
  writeFile(path: string, data: string | Uint8Array): Promise<void>
  /**
   * Reads, changes and writes as one step: calls that run side by side lose nothing. `change` is given what is there
   * and returns what shall be there, undefined to leave the file alone; a `CapabilityError` it throws comes out.
   */
  update(path: string, change: (data: Uint8Array) => string | Uint8Array | undefined): Promise<void>
  /** A directory's entries, by name. */
  list(path: string): Promise<FileInfo[]>
  /** Undefined when there is nothing. */
  stat(path: string): Promise<FileInfo | undefined>
}

/** How a command ended, and what it wrote. */
export interface ProcessOutcome {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  /** True when output beyond the limit was dropped. */
  readonly isCut: boolean
  /** True when it was stopped because it wrote far more than the limit. */
  readonly isFlooded?: boolean
}

/** `ctx.process`: runs one granted command, with arguments as a list and never through a shell. */
export interface ProcessAccess {
  run(
    command: string,
    args?: readonly string[],
    options?: { cwd?: string; input?: string; timeoutMs?: number },
  ): Promise<ProcessOutcome>
}

/** What each capability becomes in the tool's context once granted. */
export interface CapabilityHandles {
  readonly network?: NetworkAccess
  readonly secrets?: SecretAccess
  readonly storage?: StorageAccess
  readonly fs_reach?: FileAccess
  readonly process?: ProcessAccess
  readonly attachments?: readonly Attachment[]
}

/** Who asks: backends scope what they hand out by tool and session, and stop when the signal fires. */
export interface CapabilityScope {
  readonly tool: string
  readonly sessionId: string
  readonly signal: AbortSignal
  readonly attachments: readonly Attachment[]
}

/** Grants one capability: takes what the tool declared, returns the handle for this one call, or throws to refuse. */
export interface CapabilityBackend<Name extends CapabilityName> {
  open(
    declared: NonNullable<CapabilityRequest[Name]>,
    scope: CapabilityScope,
  ): NonNullable<CapabilityHandles[Name]> | Promise<NonNullable<CapabilityHandles[Name]>>
  /** Masks what must not be printed (secrets) in a text on its way to a result, an event or an error. */
  mask?(text: string): string
}

/** The host's backends; a capability without one is refused. */
export type CapabilityBackends = { readonly [Name in CapabilityName]?: CapabilityBackend<Name> }
