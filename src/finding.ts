/** How much a finding should worry: `high` is hardly ever innocent, `low` is worth knowing. */
export type Severity = 'high' | 'medium' | 'low'

/** What is the matter with a definition. */
export type FindingKind =
  /** Characters that people do not see and models read. */
  | 'hidden-characters'
  /** Text that tells the model to disregard what it was told. */
  | 'override'
  /** Text that tells the model to keep something from the user. */
  | 'secrecy'
  /** Markup that passes a description off as the host's own words. */
  | 'fake-markup'
  /** Text that asks for files, credentials or the conversation itself. */
  | 'exfiltration'
  /** Text that pushes this tool before others, or talks about another server's tools. */
  | 'precedence'
  /** Text pushed out of sight, or that cannot be read as it stands. */
  | 'concealment'
  /** A name that looks like another one. */
  | 'look-alike'
  /** A tool that another server offers too, word for word. */
  | 'clone'

/** Something in a tool's definition that a person should look at. */
export interface Finding {
  readonly kind: FindingKind
  readonly severity: Severity
  readonly server: string
  /** The server's own name for the tool. */
  readonly tool: string
  /** Where in the definition: `description`, `inputSchema.properties.path.description`. */
  readonly place: string
  /** What is the matter, in our words. */
  readonly message: string
  /** The passage, with hidden characters made visible. The server's words: not to be trusted. */
  readonly excerpt: string
}

/** A finding before it is known whose it is. */
export type Trace = Omit<Finding, 'server' | 'tool' | 'place'>
