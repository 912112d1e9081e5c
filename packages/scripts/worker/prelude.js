// The part of the guest that is loaded before the script: its globals, and the only way out. An expression: a function that
// takes the host's `post(number, what, text)` and returns what the host calls. It keeps what it needs, since a script can
// replace every global.
;(post) => {
  const { parse, stringify } = JSON
  const { assign, fromEntries, defineProperty, getPrototypeOf } = Object
  const [GuestPromise, GuestError, GuestMap, GuestSet, text] = [Promise, Error, Map, Set, String]
  const waiting = { __proto__: null }
  let last = 0

  class ToolError extends GuestError {}

  const plain = (_key, value) => {
    if (typeof value === 'bigint') return text(value)
    if (value instanceof GuestMap) return fromEntries(value)
    if (value instanceof GuestSet) return [...value]
    return value instanceof GuestError ? { error: text(value), code: value.code } : value
  }

  const call = (path, args) => {
    const number = ++last
    // Made here, so that its stack has the line of the call.
    const error = new ToolError('')
    const input = args.length < 2 ? (args[0] ?? {}) : args
    return new GuestPromise((resolve, reject) => {
      waiting[number] = { resolve, reject, error }
      post(number, path, stringify(input, plain) ?? 'null')
    })
  }

  const toolsAt = (path) =>
    new Proxy(() => {}, {
      get: (_target, key) =>
        // A promise asks for `then`, JSON for `toJSON`.
        typeof key !== 'string' || key === 'then' || key === 'toJSON'
          ? undefined
          : toolsAt(path === '' ? key : `${path}.${key}`),
      apply: (_target, _self, args) => call(path, args),
      set: () => false,
      defineProperty: () => false,
      ownKeys: () => {
        throw new TypeError('tools cannot be listed; find them with await tools.search("what you need")')
      },
    })

  const shown = (value) => (typeof value === 'string' ? value : (stringify(value, plain) ?? text(value)))
  const print = (...values) => {
    post(0, 'print', values.map(shown).join(' '))
  }
  const fixed = (target, name, value) =>
    defineProperty(target, name, { value, writable: false, configurable: false })

  // Its call sites would hand out the functions of this file.
  fixed(GuestError, 'prepareStackTrace', undefined)
  fixed(globalThis, 'tools', toolsAt(''))
  fixed(globalThis, 'print', print)
  globalThis.console = { log: print, info: print, warn: print, error: print, debug: print }
  globalThis.ToolError = ToolError

  // There is no Intl: these would silently ignore the locale.
  const withoutLocales = (prototype, name) => {
    const own = prototype[name]
    prototype[name] = function (...args) {
      if (name === 'localeCompare' || args.length > 0)
        throw new TypeError(`${name} knows no locales here; compare or format by hand`)
      return own.call(this)
    }
  }
  withoutLocales(text.prototype, 'localeCompare')
  for (const name of ['toLocaleUpperCase', 'toLocaleLowerCase']) withoutLocales(text.prototype, name)
  for (const { prototype } of [Number, Date, Array, BigInt, getPrototypeOf(Int8Array)])
    withoutLocales(prototype, 'toLocaleString')
  for (const name of ['toLocaleDateString', 'toLocaleTimeString']) withoutLocales(Date.prototype, name)

  const lineOf = (error) => /script\.js:(\d+)/.exec(text(error?.stack ?? ''))?.[1]
  const describe = (error) => {
    try {
      const { name = 'Error', message = error, code } = error ?? {}
      const [called, said] = [text(name).slice(0, 200), text(message).slice(0, 4_000)]
      return stringify({
        name: called,
        message: said,
        code: code && text(code).slice(0, 200),
        line: lineOf(error),
      })
    } catch {
      return '{"name":"Error","message":"the script threw something that cannot be shown"}'
    }
  }

  /** A text that is a whole JSON object or list is data. Read here: a long one would hold up the host. */
  const dataOf = (json) => {
    const first = /^\s*([[{])/.exec(json)
    if (!first) return json
    try {
      return parse(json)
    } catch {
      return json
    }
  }

  return {
    start(main) {
      main()
        .then((value) => post(0, 'return', stringify(value, plain) ?? ''))
        .catch((error) => post(0, 'throw', describe(error)))
    },
    /** A result may be given twice, if the host was restored in between. */
    settle(number, kind, json) {
      const waiter = waiting[number]
      delete waiting[number]
      if (waiter === undefined) return
      if (kind === 'json') return waiter.resolve(parse(json))
      if (kind === 'text') return waiter.resolve(dataOf(json))
      const { error } = waiter
      const { message, code, tool } = parse(json)
      waiter.reject(assign(error, { name: 'ToolError', message, code, tool }))
    },
  }
}
