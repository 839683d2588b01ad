class Live {}
