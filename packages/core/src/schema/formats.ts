/** The supported formats, each checked in linear time. Others are ignored, as the specification allows. */
export const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', isDate],
  ['time', isTime],
  ['date-time', isDateTime],
  ['duration', isDuration],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['uri', (text) => URI.test(text)],
  ['uri-reference', (text) => URI_REFERENCE.test(text)],
  ['uuid', (text) => UUID.test(text)],
  ['json-pointer', (text) => JSON_POINTER.test(text)],
  ['relative-json-pointer', (text) => RELATIVE_JSON_POINTER.test(text)],
  ['regex', isPattern],
])

const URI = /^[a-z][a-z0-9+.-]*:(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i
const URI_REFERENCE = /^(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const JSON_POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/
const RELATIVE_JSON_POINTER = /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function isDate(text: string): boolean {
  const [, year = '', month = '', day = ''] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  const days = DAYS[Number(month) - 1]
  if (days === undefined || Number(day) < 1 || Number(day) > days) return false
  return month !== '02' || day !== '29' || isLeapYear(Number(year))
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i

function isTime(text: string): boolean {
  const parts = TIME.exec(text)
  if (parts === null) return false
  const [, hour, minute, second, sign, offsetHour = 0, offsetMinute = 0] = parts
  const isInRange =
    Number(hour) <= 23 &&
    Number(minute) <= 59 &&
    Number(second) <= 60 &&
    Number(offsetHour) <= 23 &&
    Number(offsetMinute) <= 59
  if (!isInRange || Number(second) < 60) return isInRange
  // Leap seconds are added at midnight UTC, whatever the local offset.
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1)
  const minuteOfDay = Number(hour) * 60 + Number(minute) - offset
  return (minuteOfDay + 1440) % 1440 === 1439
}

function isDateTime(text: string): boolean {
  return /^.{10}[t\s]/i.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11))
}

function isDuration(text: string): boolean {
  return (
    /^P(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/.test(text) &&
    /\d[A-Z]$/.test(text)
  )
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  if (at < 1 || at > 64) return false
  const [name, host] = [text.slice(0, at), text.slice(at + 1)]
  const isQuoted = /^"(?:[^"\\\r\n]|\\.)*"$/.test(name)
  const isPlain = /^[\w!#$%&'*+/=?^`{|}~.-]+$/.test(name) && !/^\.|\.\.|\.$/.test(name)
  const literal = /^\[(?:ipv6:)?([0-9a-f.:]{2,45})\]$/i.exec(host)?.[1]
  const isHost = literal === undefined ? isHostname(host) : isIpv4(literal) || isIpv6(literal)
  return (isQuoted || isPlain) && isHost
}

function isHostname(text: string): boolean {
  return (
    text.length <= 253 &&
    text.split('.').every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(label))
  )
}

function isIpv4(text: string): boolean {
  if (text.length > 15) return false
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
}

function isIpv6(text: string): boolean {
  if (text.length > 45 || /[^0-9a-f:.]/i.test(text)) return false
  return URL.canParse(`http://[${text}]/`)
}

const MAX_PATTERN_CHARS = 2_000

function isPattern(text: string): boolean {
  if (text.length > MAX_PATTERN_CHARS) return true
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}
