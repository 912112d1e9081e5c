import type { Terminal } from '../terminal/terminal.ts'

/** One of several things to choose from. */
export interface Choice {
  readonly value: string
  readonly label: string
  readonly hint?: string
  /** false: not chosen by default. */
  readonly isChosen?: boolean
}

/** One of several answers, each given with one key. */
export interface Answer {
  /** The key, which is shown before the label. */
  readonly value: string
  readonly label: string
}

/** Answers the questions of the set-up. */
export interface Questions {
  /** The default answer is yes. */
  confirm(message: string): Promise<boolean>
  /** The default answer is no. */
  allow(message: string): Promise<boolean>
  choose(message: string, choices: readonly Choice[]): Promise<readonly string[]>
  /** The first is the default. */
  pick(message: string, answers: readonly [Answer, ...Answer[]]): Promise<string>
  /** A value that is not shown on the screen. Default: empty. */
  secret(message: string): Promise<string>
}

/** Thrown when the user cancels the set-up. */
export class Left extends Error {
  override readonly name = 'Left'
}

/** Accepts every default. */
export class DefaultAnswers implements Questions {
  async confirm(): Promise<boolean> {
    return true
  }

  async allow(_message: string): Promise<boolean> {
    return false
  }

  async choose(_message: string, choices: readonly Choice[]): Promise<readonly string[]> {
    return chosenOf(choices)
  }

  async pick(_message: string, [first]: readonly [Answer, ...Answer[]]): Promise<string> {
    return first.value
  }

  async secret(_message: string): Promise<string> {
    return ''
  }
}

/** Asks the person at the terminal. */
export class TerminalQuestions implements Questions {
  readonly #terminal: Terminal

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  async confirm(message: string): Promise<boolean> {
    return this.#confirm(message, true)
  }

  async allow(message: string): Promise<boolean> {
    return this.#confirm(message, false)
  }

  async choose(message: string, choices: readonly Choice[]): Promise<readonly string[]> {
    const { multiselect } = await import('@clack/prompts')
    return this.#answered(
      await multiselect({
        ...this.#streams(),
        message,
        options: choices.map(({ isChosen: _, ...choice }) => choice),
        initialValues: [...chosenOf(choices)],
        required: false,
      }),
    )
  }

  async pick(message: string, answers: readonly [Answer, ...Answer[]]): Promise<string> {
    const { selectKey } = await import('@clack/prompts')
    const options = answers.map((answer) => ({ ...answer }))
    const initialValue = answers[0].value
    // Enter alone gives no value.
    return (
      this.#answered(await selectKey({ ...this.#streams(), message, options, initialValue })) ?? initialValue
    )
  }

  async secret(message: string): Promise<string> {
    const { password } = await import('@clack/prompts')
    return this.#answered(await password({ ...this.#streams(), message })) ?? ''
  }

  async #confirm(message: string, initialValue: boolean): Promise<boolean> {
    const { confirm } = await import('@clack/prompts')
    return this.#answered(await confirm({ ...this.#streams(), message, initialValue }))
  }

  #streams() {
    const { input, output } = this.#terminal
    return { input, output }
  }

  #answered<Answer>(answer: Answer): Exclude<Answer, symbol> {
    if (typeof answer === 'symbol') throw new Left()
    return answer as Exclude<Answer, symbol>
  }
}

function chosenOf(choices: readonly Choice[]): readonly string[] {
  return choices.filter(({ isChosen = true }) => isChosen).map(({ value }) => value)
}
