@problemName p
@dimensions -2
@data
1:a
