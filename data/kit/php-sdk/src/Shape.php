<?php

/** Reads an answer's parts by their types: what is not as promised is an exception, never a guess. */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\UnexpectedResponse;

final class Shape
{
    /**
     * The object under a name of an object.
     *
     * @param array<string, mixed> $object
     * @return array<string, mixed>
     */
    public static function part(array $object, string $name): array
    {
        $value = $object[$name] ?? null;
        if (!is_array($value)) {
            throw self::unexpected($name);
        }
        return $value;
    }

    /**
     * A list of objects that have the given members; others may stand beside them.
     *
     * @param array<string, mixed> $object
     * @param array<string, string> $members names to types as `get_debug_type` says them
     * @return list<array<string, mixed>>
     */
    public static function rows(array $object, string $name, array $members): array
    {
        $rows = self::part($object, $name);
        if (!array_is_list($rows)) {
            throw self::unexpected($name);
        }
        foreach ($rows as $row) {
            if (!is_array($row)) {
                throw self::unexpected($name);
            }
            self::members($row, $members);
        }
        return $rows;
    }

    /**
     * @param array<string, mixed> $object
     * @param array<string, string> $members names to types, `string|null` where it may be null
     */
    public static function members(array $object, array $members): void
    {
        foreach ($members as $name => $types) {
            if (!in_array(get_debug_type($object[$name] ?? null), explode('|', $types), true)) {
                throw self::unexpected($name);
            }
        }
    }

    private static function unexpected(string $name): UnexpectedResponse
    {
        return new UnexpectedResponse("The answer has no $name of the kind that was expected.", 200);
    }
}
